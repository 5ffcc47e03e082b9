// Something to compile the precompiled headers with.
