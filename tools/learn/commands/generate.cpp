#include "learn/commands/generate.hpp"

#include <stdexcept>

#include "learn/commands/own_parts.hpp"

namespace attn::learn {

using lesson::Lesson;

int trained_demo(Course& course, const std::string& name, const std::vector<std::string>& words, bool reference) {
  const Lesson lesson = wanted_lesson(course, name);
  if (lesson.number() != "10") {
    throw std::invalid_argument("lesson " + lesson.title() + " has no trained demonstration; lesson 10 has one");
  }
  std::vector<std::string> all = {"--trained"};
  if (reference) all.push_back("--reference");
  all.insert(all.end(), words.begin(), words.end());
  return run_model(course, "generate", all, reference);
}

}  // namespace attn::learn
