"""Inner functions are linked into the entry functions that call them, and made into machine code as part of these only.

Left to itself numba optimises an inner function with all that it calls, makes machine code of it, and does both again
for each of its callers, up to the entry, whose machine code alone ever runs. Here an inner function ends as
intermediate code. That saves a third of the time of compiling, and the entry's machine code is as fast.
"""

from __future__ import annotations

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import LoweringPass, PassManager, register_pass
from numba.core.typed_passes import NativeLowering, NoPythonBackend


class IntermediateLibrary(JITCodeLibrary):
    """Code of an inner function, and of what it calls, for linking."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class IntermediateLowering(NativeLowering):
    """Lower a function to intermediate code, which other functions may call."""

    _name = "intermediate_lowering"

    def run_pass(self, state: Any) -> bool:
        state.library = IntermediateLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        # numba knows a function by a built-in one, which Python calls. Nobody calls this; it would refuse arguments.
        lowered = state["cr"]._replace(cfunc=[].clear)
        state.targetctx.insert_user_function(lowered.cfunc, lowered.fndesc, [state.library])
        state["cr"] = lowered
        return True


@register_pass(mutates_CFG=False, analysis_only=True)
class InnerEnvironments(LoweringPass):
    """Give the inner functions within an entry's machine code what they need of Python, to print for instance."""

    _name = "inner_environments"

    def __init__(self) -> None:
        LoweringPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        for environment in state.cr._find_referenced_environments():
            state.library.codegen.set_env(environment.env_name, environment)
        return False


class InnerCompiler(CompilerBase):
    """The ``pipeline_class`` of inner functions."""

    def define_pipelines(self) -> list[PassManager]:
        pipeline = DefaultPassBuilder.define_nopython_pipeline(self.state)
        pipeline.passes = [
            (IntermediateLowering if step is NativeLowering else step, why) for step, why in pipeline.passes
        ]
        pipeline.finalize()
        return [pipeline]


class EntryCompiler(CompilerBase):
    """The ``pipeline_class`` of entry functions."""

    def define_pipelines(self) -> list[PassManager]:
        pipeline = DefaultPassBuilder.define_nopython_pipeline(self.state)
        pipeline.add_pass_after(InnerEnvironments, NoPythonBackend)
        pipeline.finalize()
        return [pipeline]
