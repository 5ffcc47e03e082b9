#include "learn/machine/verdict.hpp"

#include <algorithm>

namespace attn::learn {

int Verdict::passed() const {
  return static_cast<int>(
      std::count_if(checks.begin(), checks.end(), [](const auto& check) { return check.state == "passed"; }));
}

const Verdict::Check* Verdict::first_failing() const {
  const auto found =
      std::find_if(checks.begin(), checks.end(), [](const auto& check) { return check.state != "passed"; });
  return found == checks.end() ? nullptr : &*found;
}

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
