#include "threads.hpp"

#ifdef _OPENMP
#include <omp.h>
#endif

namespace attn::fast {

int max_threads() {
#ifdef _OPENMP
  return omp_get_max_threads();
#else
  return 1;
#endif
}

int this_thread() {
#ifdef _OPENMP
  return omp_get_thread_num();
#else
  return 0;
#endif
}

}  // namespace attn::fast
