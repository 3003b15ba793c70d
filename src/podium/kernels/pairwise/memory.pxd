# Ask the processor to fetch an address soon needed; a hint without effect on results, and nothing elsewhere than GCC and Clang.
cdef extern from *:
    """
    #if defined(__GNUC__) || defined(__clang__)
    #define podium_prefetch(address) __builtin_prefetch((const void *) (address))
    #else
    #define podium_prefetch(address) ((void) 0)
    #endif
    """
    void prefetch "podium_prefetch"(const void *address) noexcept nogil
