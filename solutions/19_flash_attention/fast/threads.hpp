#pragma once

#ifdef _OPENMP
#include <omp.h>
#endif

namespace attn::fast {

// OpenMP keeps its threads alive between parallel regions. Where the compiler has none, there is one thread.

inline int max_threads() {
#ifdef _OPENMP
  return omp_get_max_threads();
#else
  return 1;
#endif
}

inline int this_thread() {
#ifdef _OPENMP
  return omp_get_thread_num();
#else
  return 0;
#endif
}

}  // namespace attn::fast
