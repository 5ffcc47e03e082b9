#include "learn/machine/verdict.hpp"

namespace attn::learn {

std::string Verdict::word() const {
  switch (kind) {
    case Kind::passed: return "passed";
    case Kind::failed: return "failed";
    case Kind::not_compiled: return "does not compile";
    case Kind::stopped: return "stopped";
    case Kind::not_judged: break;
  }
  return "could not be judged";
}

}  // namespace attn::learn
