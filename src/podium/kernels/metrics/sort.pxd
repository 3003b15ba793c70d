# What kernels/metrics.py calls of kernels/metrics_sort.py.
cdef void order_labels(
    Py_ssize_t n, int *ahead, int *tied, const double *value, bint falling, int *order, int *spare
) noexcept nogil
cdef void write_in_place(Py_ssize_t n, Py_ssize_t width, int *ahead, int *order, int *spare) noexcept nogil
cdef double sort_counting(Py_ssize_t n, double *value, double *spare, int levels, int *tally) noexcept nogil
