#pragma once

namespace attn::fast {

// OpenMP keeps its threads alive between parallel regions. Where the compiler has none, there is one thread.

/// How many threads a parallel region has.
int max_threads();

/// The number of the calling thread in its parallel region, from 0 on.
int this_thread();

}  // namespace attn::fast
