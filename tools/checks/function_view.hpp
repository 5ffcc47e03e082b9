#pragma once

#include <type_traits>
#include <utility>

namespace attn::judge {

/// What std::function is where it is only a parameter: something to call, which belongs to the caller. It stores nothing, and
/// a file of checks, which passes many lambdas, compiles a tenth faster.
template <typename Signature>
class FunctionView;

template <typename Result, typename... Arguments>
class FunctionView<Result(Arguments...)> {
 public:
  template <typename Code, typename = std::enable_if_t<!std::is_same_v<Code, FunctionView>>>
  FunctionView(const Code& code)  // NOLINT: a lambda is meant where this is asked for
      : code_(&code), call_([](const void* what, Arguments... arguments) -> Result {
          return (*static_cast<const Code*>(what))(std::forward<Arguments>(arguments)...);
        }) {}

  Result operator()(Arguments... arguments) const { return call_(code_, std::forward<Arguments>(arguments)...); }

 private:
  const void* code_;
  Result (*call_)(const void*, Arguments...);
};

}  // namespace attn::judge
