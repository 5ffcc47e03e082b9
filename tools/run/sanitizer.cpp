#include "run/sanitizer.hpp"

#include <algorithm>

namespace attn::judge {

namespace {

std::string line_at(const std::string& text, std::size_t at) { return text.substr(at, text.find('\n', at) - at); }

/// "lessons/01_self_attention_v1/self_attention_v1.cpp:31": the first place in `text` that is in the learner's files.
std::string learners_place(const std::string& text) {
  for (const std::string folder : {"/lessons/", "/.learn/interview/"}) {
    for (auto at = text.find(folder); at != std::string::npos; at = text.find(folder, at + 1)) {
      const auto colon = text.find(':', at);
      const auto end = text.find_first_not_of("0123456789", colon + 1);
      const auto line_end = text.find('\n', at);
      if (colon < line_end && end > colon + 1) return text.substr(at + 1, std::min(end, text.size()) - at - 1);
    }
  }
  return {};
}

}  // namespace

std::string take_sanitizer_report(std::string& printed) {
  const std::string address = "ERROR: AddressSanitizer: ";
  const std::string undefined = ": runtime error: ";
  std::string found;
  std::size_t begin = printed.find(address);
  if (begin != std::string::npos) {
    const std::string first = line_at(printed, begin + address.size());
    found = "AddressSanitizer: " + first.substr(0, std::min(first.find(" on "), first.find(" (")));
    for (const char* access : {"READ of size ", "WRITE of size "}) {
      const auto at = printed.find(std::string("\n") + access, begin);
      if (at == std::string::npos) continue;
      const std::string whole = line_at(printed, at + 1);
      found += ", " + whole.substr(0, whole.find(" at "));
    }
  } else if (const auto at = printed.find(undefined); at != std::string::npos) {
    begin = at;
    found = "UndefinedBehaviorSanitizer: " + line_at(printed, at + undefined.size());
  } else {
    return {};
  }
  const auto row = printed.rfind('\n', begin);
  begin = row == std::string::npos ? 0 : row + 1;
  const std::string place = learners_place(printed.substr(begin));
  const std::string ruler = std::string(65, '=') + "\n";
  if (begin >= ruler.size() && printed.compare(begin - ruler.size(), ruler.size(), ruler) == 0) begin -= ruler.size();
  printed.erase(begin);
  return place.empty() ? found : found + "\nat " + place;
}

}  // namespace attn::judge
