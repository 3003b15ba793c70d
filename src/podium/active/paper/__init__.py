"""The algorithm of the paper: decomposition, local improvement and risk minimisation on a decomposition."""
