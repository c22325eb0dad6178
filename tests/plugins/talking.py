"""Run by the tests in processes of their own: an inner function that prints, and whether the machine code was found."""

from pyclone_pgsm.jit.compiling import compiled, inner


@inner(nogil=True)
def talk(number):
    print("inner", number)
    return number + 1


def call(number):
    return talk(number)


entry = compiled(call)
print("entry", entry(41))
print("found", sum(entry.stats.cache_hits.values()))
