#include "checks/matchers.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <typeinfo>

#include "lesson/text.hpp"

namespace arma {

namespace {

template <typename Numbers>
void print(const Numbers& x, std::ostream& os) {
  constexpr uword most_elements =
      100;  // GoogleTest asks for the text of everything that fails, also when nobody reads it
  os << attn::shape_text(x);
  if (x.n_elem <= most_elements) x.raw_print(os << "\n");
}

}  // namespace

void PrintTo(const mat& x, std::ostream* os) { print(x, *os); }
void PrintTo(const cube& x, std::ostream* os) { print(x, *os); }
void PrintTo(const fmat& x, std::ostream* os) { print(x, *os); }
void PrintTo(const fcube& x, std::ostream* os) { print(x, *os); }

}  // namespace arma

namespace attn::judge {

bool names_argument(const std::string& message, const std::string& argument) {
  const auto words = words_in(message);
  const auto is_size = [&](std::size_t i) {  // "4", or a letter such as L
    if (i >= words.size()) return false;
    const std::string& word = words[i];
    const bool is_letter = word.size() == 1 && word[0] >= 'A' && word[0] <= 'Z';
    return is_letter || word.find_first_not_of("0123456789") == std::string::npos;
  };
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool between_sizes = i > 0 && is_size(i - 1) && is_size(i + 1);
    if (words[i] == argument && !(words[i] == "x" && between_sizes)) return true;
  }
  return false;
}

std::string type_name(const std::exception& error) {
  const char* mangled = typeid(error).name();
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(abi::__cxa_demangle(mangled, nullptr, nullptr, &status),
                                                         std::free);
  return status == 0 ? name.get() : mangled;
}

std::string RejectsArgument::diagnose(FunctionView<void()> call) const {
  std::string words = "std::invalid_argument with a message that names \"" + argument_ + "\"";
  for (const std::string& word : words_) words += " and says \"" + word + "\"";
  const std::string wanted = line("wanted", words);
  try {
    call();
  } catch (const NotWritten&) {
    throw;
  } catch (const std::invalid_argument& error) {
    const std::string threw = line("threw", "std::invalid_argument: " + std::string(error.what())) + wanted;
    if (!names_argument(error.what(), argument_)) {
      return threw + note("did a function that you call throw it? Check " + argument_ +
                          " before that call; in a constructor, in its first initialiser");
    }
    for (const std::string& word : words_) {
      if (std::string(error.what()).find(word) == std::string::npos) return threw;
    }
    return {};
  } catch (const std::exception& error) {
    const bool only_the_type = names_argument(error.what(), argument_);
    return line("threw", type_name(error) + ": " + error.what()) + wanted +
           note(only_the_type ? "only the type is wrong" : "check the sizes before you compute");
  }
  return line("threw", "nothing") + wanted;
}

::testing::AssertionResult RejectsArgument::operator()(const char* text, FunctionView<void()> call) const {
  const std::string diagnosis = diagnose(call);
  if (diagnosis.empty()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "Value of: " << text << "\nExpected: a rejection\n" << diagnosis;
}

}  // namespace attn::judge
