#pragma once

#include <string>

namespace attn::judge {

/// What a message of Armadillo, or of the course's own helpers, means to a reader who has not met it before: a sentence
/// that is true whatever caused it, with what to write. Empty for other messages. (Armadillo 11 to 15 word them alike.)
std::string explain_thrown(const std::string& thrown);

}  // namespace attn::judge
