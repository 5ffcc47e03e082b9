#pragma once

#include <string>

namespace attn::judge {

/// What a sanitizer that ended a check found, and where in the learner's file: one line each. Empty when none did.
/// @param printed what the check printed; the sanitizer's own pages are cut off
std::string take_sanitizer_report(std::string& printed);

}  // namespace attn::judge
