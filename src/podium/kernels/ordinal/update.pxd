# What kernels/ordinal.py calls of kernels/ordinal_update.py.
cdef double learn(
    double *theta, double *lag, double seen, int variant, double C, double score, double q,
    Py_ssize_t under, Py_ssize_t over, Py_ssize_t n
) noexcept nogil
