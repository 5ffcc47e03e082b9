#include "learn/coach/diagnostics.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <optional>
#include <regex>
#include <utility>

#include "lesson/text.hpp"

namespace attn::learn {

namespace {

/// "file:line:column: rest"; a linker knows no column.
struct Header {
  Place place;
  std::string rest;
};

/// The number at a place of a text that a colon follows, and `at` moved behind the colon; 0 where there is none.
int number_before_colon(const std::string& text, std::size_t& at) {
  const auto end = text.find_first_not_of("0123456789", at);
  if (end == std::string::npos || end == at || text[end] != ':') return 0;
  const int number = std::atoi(text.c_str() + at);
  at = end + 1;
  return number;
}

std::optional<Header> header_of(const std::string& row) {
  for (auto colon = row.find(':'); colon != std::string::npos; colon = row.find(':', colon + 1)) {
    Header header{{row.substr(0, colon)}, ""};
    std::size_t at = colon + 1;
    header.place.line = number_before_colon(row, at);
    if (header.place.line == 0) continue;
    header.place.column = number_before_colon(row, at);
    const auto text = row.find_first_not_of(' ', at);
    if (text == std::string::npos) return std::nullopt;
    header.rest = row.substr(text);
    return header;
  }
  return std::nullopt;
}

/// The code in a row of GCC's excerpt ("   22 |   code", "      |   ^"); in clang's the whole row is code.
std::string code_in(const std::string& row) {
  const auto bar = row.find(" | ");
  const auto first = row.find_first_not_of(" 0123456789");
  if (bar != std::string::npos && first == bar + 1) return row.substr(bar + 3);
  return row;
}

/// Reads a compiler's output row by row.
class Reader {
 public:
  explicit Reader(const LearnersFiles& files) : files_(files) {}

  void read(const std::string& row) {
    const auto header = header_of(row);
    if (!header || header->place.column == 0) {
      read_other(row);
    } else if (begins_with(header->rest, "required ") || begins_with(header->rest, "recursively required")) {
      chain_.push_back(header->place);
      excerpt_rows_ = no_excerpt;
    } else {
      read_message(*header);
    }
  }

  std::vector<Diagnostic> found() {
    end_diagnostic();
    return std::move(found_);
  }

 private:
  static constexpr int no_excerpt = 2;

  bool is_learners(const std::string& file) const {
    const auto at = file.rfind(files_.folder + "/");
    return at == 0 || (at != std::string::npos && file[at - 1] == '/');
  }

  void read_message(const Header& header) {
    const auto& rest = header.rest;
    const auto text = rest.find(": ");
    const std::string kind = rest.substr(0, text);
    excerpt_rows_ = no_excerpt;
    if (text == std::string::npos) return;
    if (kind == "error" || kind == "fatal error" || kind == "warning") {
      end_diagnostic();
      begin_diagnostic(kind != "warning", header.place, rest.substr(text + 2));
    } else if (kind == "note" && is_open_) {
      const std::string note = rest.substr(text + 2);
      if (begins_with(note, "in instantiation of") || begins_with(note, "while ")) chain_.push_back(header.place);
      if (now_.notes.size() < most_notes) now_.notes.push_back(with_short_types(note));
    }
  }

  void read_other(const std::string& row) {
    if (row.find(": In ") != std::string::npos || row.find(": At ") != std::string::npos) {  // GCC's next context
      end_diagnostic();
      chain_.clear();
      excerpt_rows_ = no_excerpt;
    } else if (begins_with(row, "In file included from ") || begins_with(row, "                 from ")) {
      excerpt_rows_ = no_excerpt;
    } else if (is_open_ && excerpt_rows_ < no_excerpt) {
      const std::string code = code_in(row);
      if (excerpt_rows_ == 0) now_.source = code;
      if (excerpt_rows_ == 1 && code.find_first_not_of(" ~^") == std::string::npos) now_.caret = code;
      ++excerpt_rows_;
    }
  }

  void begin_diagnostic(bool is_error, const Place& place, const std::string& message) {
    now_ = {};
    now_.is_error = is_error;
    now_.place = place;
    now_.message = with_short_types(message);
    is_open_ = true;
    excerpt_rows_ = 0;
  }

  void end_diagnostic() {
    if (is_open_) {
      now_.in_learners_file = is_learners(now_.place.file);
      if (!now_.in_learners_file) move_to_learners_line();
      auto& file = now_.place.file;
      if (now_.in_learners_file) file.erase(0, file.rfind(files_.folder + "/"));  // as learners know it
      if (!repeats(now_) && !continues_another(now_)) found_.push_back(now_);
      chain_.clear();
    }
    is_open_ = false;
  }

  /// The innermost line of the learner's in the chain that led to an error in a library.
  void move_to_learners_line() {
    for (const Place& place : chain_) {
      if (!is_learners(place.file)) continue;
      now_.in_learners_file = true;
      now_.place = place;
      now_.source = files_.row_of(place.file, place.line);
      now_.caret = now_.source.empty() ? "" : std::string(static_cast<std::size_t>(place.column - 1), ' ') + "^";
      caused_elsewhere_ = true;
      return;
    }
    caused_elsewhere_ = false;
  }

  bool repeats(const Diagnostic& diagnostic) {
    const bool caused_elsewhere = std::exchange(caused_elsewhere_, false);
    return std::any_of(found_.begin(), found_.end(), [&](const Diagnostic& other) {
      return other.is_error == diagnostic.is_error && other.place.text() == diagnostic.place.text() &&
             (caused_elsewhere || other.message == diagnostic.message);
    });
  }

  /// GCC prints "  when initialized here" as a warning of its own.
  static bool continues_another(const Diagnostic& diagnostic) { return begins_with(diagnostic.message, " "); }

  static constexpr std::size_t most_notes = 12;

  const LearnersFiles& files_;
  std::vector<Diagnostic> found_;
  Diagnostic now_;
  bool is_open_ = false;
  int excerpt_rows_ = no_excerpt;
  std::vector<Place> chain_;  ///< GCC prints it before an error, clang after it
  bool caused_elsewhere_ = false;
};

}  // namespace

std::string with_short_types(const std::string& message) {
  using Rule = std::pair<std::regex, std::string>;
  static const std::vector<Rule> rules = {
      {std::regex(R"('([^']*enable_if2?<[^']*)' [({]aka '([^']*)'[)}])"), "'$2'"},
      {std::regex(R"( \(aka '[^']*'\)| \{aka [^{}]*\})"), ""},
      {std::regex(R"((?:typename )?(?:arma::)?enable_if2<true, ([^']*?) ?>::result)"), "$1"},
      {std::regex(R"((['<(]|const |, )(?:class|struct) )"), "$1"},
      {std::regex(R"(unsigned long long|long long unsigned int)"), "arma::uword"},
      {std::regex(R"(\b(?:arma::)?(Mat|Col|Row|Cube|subview\w*)<)"), "arma::$1<"},
      {std::regex(R"(arma::Mat<double>)"), "arma::mat"},
      {std::regex(R"(arma::Col<double>)"), "arma::vec"},
      {std::regex(R"(arma::Row<double>)"), "arma::rowvec"},
      {std::regex(R"(arma::Cube<double>)"), "arma::cube"},
      {std::regex(R"(arma::Mat<arma::uword>)"), "arma::umat"},
      {std::regex(R"(arma::Col<arma::uword>)"), "arma::uvec"},
      {std::regex(R"(arma::Cube<arma::uword>)"), "arma::ucube"},
      {std::regex(R"(arma::Mat<float>)"), "arma::fmat"},
      {std::regex(R"(arma::Cube<float>)"), "arma::fcube"},
      {std::regex(R"((?:std::)?(?:__cxx11::)?\bbasic_string<char>)"), "std::string"},
      {std::regex(R"(, std::allocator<[^<>]*> ?(?=>))"), ""},
      {std::regex(R"(could not convert '.*' from ')"), "could not convert from '"},
      {std::regex(R"( \[-W[^\]]*\]| \[-fpermissive\])"), ""},
  };
  constexpr std::size_t most_bytes = 3000;
  std::string text = replaced(replaced(message.substr(0, most_bytes), "‘", "'"), "’", "'");
  for (const auto& [pattern, with] : rules) text = std::regex_replace(text, pattern, with);
  return text;
}

std::vector<Diagnostic> diagnostics_in(const std::string& output, const LearnersFiles& files) {
  Reader reader(files);
  for (const auto& row : lines_of(output)) reader.read(row);
  return reader.found();
}

Line message_line(const Place& at, const std::string& kind, const std::string& message) {
  const bool is_error = kind == "error" || kind == "fatal error";
  const Role role = is_error ? Role::error : kind == "warning" ? Role::warning : Role::label;
  return Line({{at.text() + ":" + std::to_string(at.column), Role::important},
               {": "},
               {kind, role},
               {": "},
               {message, is_error ? Role::important : Role::plain}},
              at);
}

Line quoted_line(const std::string& gutter, const std::string& code, Role role) {
  return Line({{gutter, Role::label}, {code, role}});
}

Lines output_lines(const std::string& output) {
  static const std::regex quoted(R"(( +(\d*) *\|)(.*))");
  static const std::regex message("(fatal error|error|warning|note): (.*)");
  Lines lines;
  for (const auto& row : lines_of(output)) {
    const auto header = header_of(row);
    std::smatch part;
    if (begins_with(row, "In file included from ") || begins_with(row, "                 from ")) {
      lines.emplace_back(row, Role::label);
    } else if (std::regex_match(row, part, quoted)) {
      lines.push_back(quoted_line(part[1], part[3], part[2].length() == 0 ? Role::caret : Role::plain));
    } else if (header && header->place.column > 0 && std::regex_match(header->rest, part, message)) {
      lines.push_back(message_line(header->place, part[1], part[2]));
    } else {
      lines.emplace_back(row);
      if (header) lines.back().place = header->place;
    }
  }
  return lines;
}

}  // namespace attn::learn
