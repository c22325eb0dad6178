"""Linking of inner functions into the entry functions that call them, so that only these become machine code.

By default numba optimises an inner function with everything it calls, makes machine code of it, and repeats both for
each of its callers, up to the entry, although only the entry's machine code ever runs. Here the compilation of an inner
function stops at intermediate code. That saves a third of the compilation time; the entry's machine code is as fast.
"""

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import LoweringPass, PassManager, register_pass
from numba.core.typed_passes import NativeLowering, NoPythonBackend


class IntermediateLibrary(JITCodeLibrary):
    """Intermediate code of an inner function, and of everything it calls, for linking."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class IntermediateLowering(NativeLowering):
    """Lower a function to intermediate code, which other functions can call."""

    _name = "intermediate_lowering"

    def run_pass(self, state: Any) -> bool:
        state.library = IntermediateLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        # numba identifies a function by a built-in that Python would call: here a placeholder that is never called.
        lowered = state["cr"]._replace(cfunc=[].clear)
        state.targetctx.insert_user_function(lowered.cfunc, lowered.fndesc, [state.library])
        state["cr"] = lowered
        return True


@register_pass(mutates_CFG=False, analysis_only=True)
class InnerEnvironments(LoweringPass):
    """Give inner functions within an entry's machine code the Python objects that they need, to print for instance."""

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
