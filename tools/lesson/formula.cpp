#include "lesson/formula.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "lesson/text.hpp"
#include "lesson/utf8.hpp"

namespace attn {

namespace {

/// What a part of a formula is to its neighbours: it decides about spaces and parentheses.
enum class Kind { operand, fraction, function, prefix, sum, product, relation, comma, open, close, space };

struct Part {
  std::string text;
  Kind kind = Kind::operand;
};
using Parts = std::vector<Part>;

/// The commands without arguments: what they look like in plain text.
const std::map<std::string, Part>& commands() {
  static const std::map<std::string, Part> known = [] {
    const std::pair<Kind, const char*> tables[] = {
        {Kind::operand, R"(\top ᵀ \infty ∞ \ldots … \dots … \cdots … \ell ℓ \| ‖ \_ _ \% % \sum Σ \prod Π
                           \alpha α \beta β \gamma γ \delta δ \epsilon ε \varepsilon ε \eta η \theta θ \lambda λ
                           \mu μ \nu ν \pi π \rho ρ \sigma σ \tau τ \phi φ \varphi φ \psi ψ \omega ω
                           \Delta Δ \Theta Θ \Phi Φ \Sigma Σ \Omega Ω)"},
        {Kind::function, R"(\exp exp \log log \ln ln \sin sin \cos cos \tanh tanh \max max \min min)"},
        {Kind::prefix, R"(\partial ∂ \nabla ∇)"},
        {Kind::sum, R"(\pm ±)"},
        {Kind::product, R"(\cdot · \times × \odot ⊙ \circ ∘)"},
        {Kind::relation, R"(\le ≤ \leq ≤ \ge ≥ \geq ≥ \ne ≠ \neq ≠ \ll ≪ \gg ≫ \approx ≈ \in ∈ \mid |
                            \to → \rightarrow → \gets ← \leftarrow ←)"},
        {Kind::open, R"(\{ { \lfloor ⌊ \lceil ⌈)"},
        {Kind::close, R"(\} } \rfloor ⌋ \rceil ⌉)"},
    };
    std::map<std::string, Part> all = {{"\\,", {" ", Kind::space}},
                                       {"\\;", {" ", Kind::space}},
                                       {"\\ ", {" ", Kind::space}},
                                       {"\\quad", {"   ", Kind::space}},
                                       {"\\qquad", {"\t", Kind::space}}};
    for (const char* size : {"\\left", "\\right", "\\big", "\\Big"}) all[size] = {"", Kind::space};
    for (const auto& [kind, table] : tables) {
      std::istringstream words(table);
      for (std::string command, text; words >> command >> text;) all[command] = {text, kind};
    }
    return all;
  }();
  return known;
}

const std::map<std::string, Kind> signs = {
    {"+", Kind::sum},  {"-", Kind::sum},   {"=", Kind::relation}, {"<", Kind::relation}, {">", Kind::relation},
    {"(", Kind::open}, {")", Kind::close}, {"[", Kind::open},     {"]", Kind::close},    {",", Kind::comma}};

bool ends_operand(const Part& part) {
  return part.kind == Kind::operand || part.kind == Kind::fraction || part.kind == Kind::close;
}

bool is_narrow(const Part& part) { return part.kind == Kind::space && part.text == " "; }

/// Whether what follows a fraction would be taken for a part of its denominator.
bool binds(const Part& part) {
  return part.kind == Kind::operand || part.kind == Kind::fraction || part.kind == Kind::function ||
         part.kind == Kind::prefix || part.kind == Kind::product || part.kind == Kind::open;
}

/// Appends text of one or several lines; further lines begin below the first.
void append(std::string& text, const std::string& more) {
  const auto line = text.rfind('\n');
  const int column = columns_of(line == std::string::npos ? text : text.substr(line + 1));
  text += replaced(more, "\n", "\n" + padded("", column));
}

/// Text without what is in parentheses.
std::string outside_parentheses(const std::string& text) {
  std::string outside;
  int depth = 0;
  for (const auto& character : utf8::characters(text)) {
    depth -= character.bytes == ")";
    if (depth == 0) outside += character.bytes;
    depth += character.bytes == "(";
  }
  return outside;
}

/// Whether text is more than one factor: everything between two of them comes with a space.
bool is_compound(const std::string& text) { return outside_parentheses(text).find(' ') != std::string::npos; }

/// Whether text is more than one product.
bool is_sum(const std::string& text) {
  const std::string outside = outside_parentheses(text);
  const auto has = [&](const char* sign) { return outside.find(sign) != std::string::npos; };
  return has(" + ") || has(" − ") || has(" ± ") || has(" / ") || has(" = ");
}

/// Parts with the spaces and parentheses that they need beside each other.
std::string text_of(const Parts& parts) {
  std::string text;
  const Part* before = nullptr;  // the last one that is not a space
  std::string space;             // since then, as written
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Part& part = parts[i];
    if (part.kind == Kind::space) {
      if (columns_of(part.text) > columns_of(space) || part.text == "\t") space = part.text;
      continue;
    }
    const bool binary = part.kind == Kind::sum && before != nullptr && ends_operand(*before);
    const bool spaced = binary || part.kind == Kind::product || part.kind == Kind::relation;
    const bool wide = space.size() > 1 || space == "\t";
    if (before == nullptr) {
      if (!wide) space.clear();
    } else if (!wide) {
      const bool tight = before->kind == Kind::open || before->kind == Kind::prefix || part.kind == Kind::close ||
                         part.kind == Kind::comma;
      const bool apart = spaced || before->kind == Kind::comma ||
                         (before->kind == Kind::function && (part.kind == Kind::operand || part.kind == Kind::prefix));
      if (tight) space.clear();
      if (!tight && apart) space = " ";
    }
    const bool has_its_own = part.text[0] == ' ' || (!text.empty() && text.back() == ' ');  // \text{ if }
    if (space != " " || !has_its_own) text += space;
    std::string shown = part.text;
    if (part.kind == Kind::fraction) {
      const bool misread =
          i + 1 < parts.size() && binds(parts[i + (i + 2 < parts.size() && is_narrow(parts[i + 1]) ? 2 : 1)]);
      if (misread || (before != nullptr && (before->kind == Kind::function || before->kind == Kind::prefix))) {
        shown = "(" + shown + ")";
      }
    }
    append(text, shown);
    static const Part sign{"", Kind::prefix};  // what follows a sign in front, it does not stand apart from
    before = part.kind == Kind::sum && !binary ? &sign : &part;
    space = spaced ? " " : "";
  }
  return text;
}

/// Reads LaTeX from its beginning to its end.
class Reader {
 public:
  explicit Reader(const std::string& latex) {
    for (std::size_t at = 0; at < latex.size(); at += tokens_.back().size()) {
      std::size_t end = at + utf8::character_at(latex, at).bytes.size();
      if (latex[at] == '\\' && end < latex.size()) {
        while (end < latex.size() && std::isalpha(static_cast<unsigned char>(latex[end])) != 0) ++end;
        if (end == at + 1) ++end;
      }
      tokens_.push_back(latex.substr(at, end - at));
    }
  }

  std::string all() {
    const Parts parts = until({});
    return text_of(parts);
  }

 private:
  bool at_end() const { return next_ == tokens_.size(); }
  const std::string& peek() const { return tokens_.at(next_); }
  std::string take() {
    if (at_end()) throw std::invalid_argument("it ends too early");
    return tokens_[next_++];
  }

  /// Everything before one of these, which is taken too, and is the last one taken; or before the end, if there are none.
  Parts until(std::initializer_list<const char*> ends) {
    Parts parts;
    while (!(at_end() && ends.size() == 0)) {
      last_ = take();
      if (std::find(ends.begin(), ends.end(), last_) != ends.end()) return parts;
      read(std::string(last_), parts);
    }
    return parts;
  }

  /// "{...}" as it is. MathJax and KaTeX agree about "\_" in \mathrm only.
  std::string name(bool underscores) {
    if (take() != "{") throw std::invalid_argument("expected {");
    std::string text;
    for (std::string token = take(); token != "}"; token = take()) {
      if (token == "_" || token == "^" || token == "{" || (token[0] == '\\' && !(token == "\\_" && underscores))) {
        throw std::invalid_argument(token + " is not known in a name (names with \\_ are for \\mathrm)");
      }
      text += token == "\\_" ? "_" : token;
    }
    return text;
  }

  /// What a command or a script is about: a group, a command with its own arguments, or a character.
  Parts argument() {
    while (!at_end() && is_space(peek())) ++next_;
    const std::string token = take();
    if (token == "{") return until({"}"});
    Parts parts;
    read(token, parts);
    return parts;
  }

  static bool is_space(const std::string& token) { return token == " " || token == "\n" || token == "~"; }

  static std::string in_parentheses(const std::string& text, bool needed) { return needed ? "(" + text + ")" : text; }

  static std::string superscript(const std::string& text) {
    static const std::map<std::string_view, const char*> small = {
        {"0", "⁰"}, {"1", "¹"}, {"2", "²"}, {"3", "³"}, {"4", "⁴"}, {"5", "⁵"}, {"6", "⁶"},
        {"7", "⁷"}, {"8", "⁸"}, {"9", "⁹"}, {"−", "⁻"}, {"ᵀ", "ᵀ"}, {"'", "'"}};
    std::string raised;
    for (const auto& character : utf8::characters(text)) {
      const auto found = small.find(character.bytes);
      if (found == small.end()) return "";
      raised += found->second;
    }
    return raised;
  }

  /// "_j", "ᵀ" or "^(t − 1)", which belongs to what is before it.
  void read_script(const std::string& mark, Parts& parts) {
    std::string text = replaced(text_of(argument()), ", ", ",");
    const bool compound = is_compound(text);
    for (const char* sign : {"+", "−", "="}) text = replaced(text, " " + std::string(sign) + " ", sign);
    const std::string raised = mark == "^" ? superscript(text) : "";
    if (parts.empty()) parts.emplace_back();
    parts.back().text += !raised.empty() ? raised : mark + in_parentheses(text, compound);
  }

  void read_rows(Parts& parts) {
    const std::string environment = name(false);
    const bool cases = environment == "cases";
    if (environment != "aligned" && !cases) throw std::invalid_argument("\\begin{" + environment + "} is not known");
    std::vector<std::vector<std::string>> rows(1);
    while (true) {
      rows.back().push_back(text_of(until({"&", "\\\\", "\\end"})));
      if (last_ == "\\\\") rows.emplace_back();
      if (last_ == "\\end") break;
    }
    if (name(false) != environment) throw std::invalid_argument("\\end does not match \\begin{" + environment + "}");
    if (rows.back() == std::vector<std::string>{""}) rows.pop_back();
    std::vector<int> widths;
    for (const auto& row : rows) {
      widths.resize(std::max(widths.size(), row.size()));
      for (std::size_t i = 0; i < row.size(); ++i) {
        for (const auto& line : lines_of(row[i])) widths[i] = std::max(widths[i], columns_of(line));
      }
    }
    std::string text;
    for (const auto& row : rows) {
      std::string line = cases ? "{ " : "";
      for (std::size_t i = 0; i < row.size(); ++i) {
        const bool right = !cases && i % 2 == 0;
        const std::string padding = padded("", widths[i] - columns_of(row[i]));
        if (i > 0) line += right || cases ? "   " : widths[i - 1] > 0 ? " " : "";
        append(line, right ? padding + row[i] : row[i]);
        if (!right && i + 1 < row.size()) line += padding;
      }
      text += (text.empty() ? "" : "\n") + line;
    }
    parts.push_back({text});
  }

  void read(const std::string& token, Parts& parts) {
    if (is_space(token)) {
      parts.push_back({" ", Kind::space});
    } else if (token == "{") {
      const Parts group = until({"}"});
      parts.insert(parts.end(), group.begin(), group.end());
    } else if (token == "_" || token == "^") {
      read_script(token, parts);
    } else if (token == "\\text" || token == "\\mathrm" || token == "\\mathbf" || token == "\\mathcal") {
      parts.push_back({name(token == "\\mathrm")});
    } else if (token == "\\frac") {
      const std::string above = text_of(argument());
      const std::string below = text_of(argument());
      parts.push_back(
          {in_parentheses(above, is_sum(above)) + " / " + in_parentheses(below, is_compound(below)), Kind::fraction});
    } else if (token == "\\sqrt") {
      const std::string root = text_of(argument());
      parts.push_back({"√" + in_parentheses(root, is_compound(root))});
    } else if (token == "\\hat") {
      parts.push_back({text_of(argument()) + "\u0302"});  // combines with the letter
    } else if (token == "\\begin") {
      read_rows(parts);
    } else if (const auto known = commands().find(token); known != commands().end()) {
      if (!known->second.text.empty()) parts.push_back(known->second);
    } else if (token == "}" || token == "&" || token[0] == '\\') {
      throw std::invalid_argument(token + " is not known" + (token == "\\\\" || token == "&" ? " here" : ""));
    } else {
      const auto sign = signs.find(token);
      parts.push_back({token == "-" ? "−" : token, sign == signs.end() ? Kind::operand : sign->second});
    }
  }

  std::vector<std::string> tokens_;
  std::size_t next_ = 0;
  std::string last_;
};

}  // namespace

std::string plain_formula(const std::string& latex) {
  constexpr int widest = 72;
  std::string text;
  for (const auto& line : lines_of(Reader(latex).all())) {
    const bool fits = columns_of(replaced(line, "\t", "      ")) <= widest;
    text += replaced(line, "\t", fits ? "      " : "\n") + "\n";
  }
  return text;
}

std::string with_plain_formulas(const std::string& markdown, std::vector<std::string>* problems) {
  std::string text;
  std::string latex;
  bool in_formula = false;
  for (const auto& line : lines_of(markdown)) {
    if (!in_formula) {
      in_formula = line == "```math";
      latex.clear();
      if (!in_formula) text += line + "\n";
    } else if (line != "```") {
      latex += line + "\n";
    } else {
      in_formula = false;
      try {
        text += "```\n" + plain_formula(latex) + "```\n";
      } catch (const std::invalid_argument& error) {
        text += "```math\n" + latex + "```\n";
        if (problems != nullptr) problems->push_back(std::string(error.what()) + " in the formula\n" + latex);
      }
    }
  }
  return text;
}

}  // namespace attn
