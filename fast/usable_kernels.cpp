#include "usable_kernels.hpp"

#include <cstdlib>
#include <stdexcept>
#include <string>

namespace attn::fast {

extern const Kernels avx512_kernels, avx2_kernels, portable_kernels;

namespace {

struct Candidate {
  std::string name;
  const Kernels* kernels;  // nullptr: not on this machine
};

std::vector<Candidate> candidates() {
#ifdef ATTN_X86_KERNELS
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f");
  const Kernels* with_avx512 = avx512 ? &avx512_kernels : nullptr;
  const Kernels* with_avx2 = avx2 ? &avx2_kernels : nullptr;
#else
  const Kernels *with_avx512 = nullptr, *with_avx2 = nullptr;
#endif
  return {{"AVX-512", with_avx512}, {"AVX2", with_avx2}, {"portable", &portable_kernels}};
}

std::vector<const Kernels*> find_usable_kernels() {
  const char* fastest = std::getenv("ATTN_KERNELS");
  bool reached = fastest == nullptr;
  std::vector<const Kernels*> usable;
  for (const auto& [name, kernels] : candidates()) {
    reached = reached || name == fastest;
    if (reached && kernels != nullptr) usable.push_back(kernels);
  }
  if (!reached) {
    throw std::invalid_argument("ATTN_KERNELS is " + std::string(fastest) + ", expected AVX-512, AVX2 or portable");
  }
  return usable;
}

}  // namespace

const std::vector<const Kernels*>& usable_kernels() {
  static const std::vector<const Kernels*> usable = find_usable_kernels();
  return usable;
}

}  // namespace attn::fast
