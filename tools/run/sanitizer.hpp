#pragma once

#include <string>

#if defined(__SANITIZE_ADDRESS__)
#define ATTN_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ATTN_ADDRESS_SANITIZER 1
#endif
#endif

namespace attn::judge {

/// Whether this program was built with AddressSanitizer.
#ifdef ATTN_ADDRESS_SANITIZER
constexpr bool has_sanitizer = true;
#else
constexpr bool has_sanitizer = false;
#endif

/// What a sanitizer that ended a check found, and where in the learner's file: one line each. Empty when none did.
/// @param printed what the check printed; the sanitizer's own pages are cut off
std::string take_sanitizer_report(std::string& printed);

}  // namespace attn::judge
