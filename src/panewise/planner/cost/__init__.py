"""What plans and kernels cost."""
