#include "learn/commands/own_parts.hpp"

#include <algorithm>
#include <fstream>
#include <iostream>
#include <optional>
#include <stdexcept>

#include "learn/coach/diagnostics.hpp"
#include "learn/commands/commands.hpp"
#include "learn/machine/build.hpp"
#include "learn/machine/checking.hpp"
#include "learn/machine/machine.hpp"
#include "learn/memory/answers.hpp"
#include "learn/memory/history.hpp"
#include "lesson/text.hpp"

namespace attn::learn {

namespace fs = std::filesystem;
using lesson::Lesson;

Built build_program(const Course& course, const std::string& program) {
  static bool said = false;  // what is asked for may take several builds
  if (!said && !fs::exists(build_folder(course.root) / program)) {
    said = true;
    course.print("Building the program (up to three minutes, once) ...");
  }
  return build(course.root, usual_preset, program,
               [&](const std::string& doing) { std::cerr << course.style("  " + in_percent(doing)) << std::endl; });
}

namespace {

constexpr int exit_interrupted = 130;

/// Whether the learner's files pass all checks now; nothing when the learner stopped it.
std::optional<bool> passes(Course& course, const Lesson& lesson) {
  const LessonRecord known = course.store.state().record_of(lesson.name);
  const std::string text = fingerprint(lesson);
  if (known.passing && known.passed_text == text) return true;
  if (known.judged_text == text) return false;
  const Verdict verdict = judge_beside(course, lesson);
  if (verdict.kind == Verdict::Kind::stopped) return {};
  return verdict.kind == Verdict::Kind::passed;
}

/// Builds the program with these parts: programs/CMakeLists.txt reads whose files it is linked with.
Built build_with(const Course& course, const std::string& program, const std::vector<ModelPart>& parts) {
  std::string numbers;
  for (const auto& part : parts) {
    if (part.own) numbers += part.lesson.number() + "\n";
  }
  const fs::path file = build_folder(course.root) / ("own_lessons_" + program + ".txt");
  if (!fs::is_regular_file(file) || lesson::read_file(file) != numbers) {  // else nothing is configured again
    fs::create_directories(file.parent_path());
    replace_file(file, numbers);
  }
  return build_program(course, program);
}

/// Builds the program. Lessons that pass one by one may still not link together: two may define a function of the same
/// name. Then each takes part that links with those before it.
Built build_model(const Course& course, const std::string& program, std::vector<ModelPart>& parts) {
  Built built = build_with(course, program, parts);
  const auto is_own = [](const ModelPart& part) { return part.own; };
  if (built.ok || built.stopped || std::none_of(parts.begin(), parts.end(), is_own)) return built;
  const std::vector<ModelPart> wanted = parts;
  for (auto& part : parts) part.own = false;
  built = build_with(course, program, parts);
  if (!built.ok) return built;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!wanted[i].own) continue;
    parts[i].own = true;
    built = build_with(course, program, parts);
    if (built.stopped) return built;
    if (built.ok) continue;
    parts[i].own = false;
    parts[i].why_not = "passes, but defines a name that another of your lessons defines, too";
  }
  return build_with(course, program, parts);
}

/// The lessons that programs/PROGRAM/lessons.txt names, each judged as ./learn check does, unless it is known what became
/// of exactly these files. A lesson that was not touched is not built.
/// @return nothing when the learner stopped it
std::optional<std::vector<ModelPart>> model_parts(Course& course, const std::string& program) {
  std::vector<ModelPart> parts;
  for (const auto& number : lessons_of_program(course.root, program)) {
    const Lesson lesson = lesson::find_lesson(course.root, number);
    ModelPart& part = parts.emplace_back(ModelPart{lesson, false, ""});
    if (!fs::exists(lesson.chapter_file()) || !edited(lesson)) continue;
    const auto passed = passes(course, lesson);
    if (!passed) return {};
    part.own = *passed;
    if (!part.own) part.why_not = "does not pass its checks: ./learn check " + lesson.number();
  }
  return parts;
}

int exit_code_of(const Course& course, const Built& failed) {
  if (failed.stopped) return exit_interrupted;
  course.print(output_lines(failed.output));
  return exit_not_judged;
}

[[noreturn]] void become_program(const Course& course, const std::string& name, const std::vector<std::string>& words) {
  std::vector<std::string> command = {(build_folder(course.root) / name).string()};
  if (course.style.plain) command.insert(command.begin(), {"env", "TERM=dumb"});  // no colours, no line written again
  command.insert(command.end(), words.begin(), words.end());
  become(command);
}

}  // namespace

std::vector<std::string> lessons_of_program(const fs::path& root, const std::string& program) {
  std::vector<std::string> numbers;
  std::ifstream in(root / "programs" / program / "lessons.txt");
  for (std::string number; std::getline(in, number);) numbers.push_back(number);
  return numbers;
}

std::string runs_in_text(const Lesson& lesson) {
  const std::pair<const char*, const char*> programs[] = {{"generate", "writes text"}, {"train", "learns"}};
  for (const auto& [program, does] : programs) {
    const auto numbers = lessons_of_program(lesson.root, program);
    if (std::find(numbers.begin(), numbers.end(), lesson.number()) == numbers.end()) continue;
    return std::string("It runs in a language model now, which ") + does + ": ./learn " + program;
  }
  return "";
}

std::string parts_text(const std::vector<ModelPart>& parts, const std::string& program) {
  std::vector<std::string> own;
  std::string next;
  std::string notes;
  for (const auto& part : parts) {
    if (part.own) own.push_back(part.lesson.number());
    if (!part.own && next.empty()) next = part.lesson.number();
    if (!part.why_not.empty()) {
      notes += "\n" + part.lesson.title() + " is the reference's, as yours " + part.why_not;
    }
  }
  std::string text =
      std::to_string(own.size()) + " of " + counted(static_cast<int>(parts.size()), "part") + " are yours";
  if (own.size() == parts.size()) return text + ".";
  if (!own.empty()) text += ": " + joined(own, ", ");
  return text + "; ./learn " + next + " is next. ./learn " + program + " --help lists them all" + notes;
}

int run_model(Course& course, const std::string& program, const std::vector<std::string>& words) {
  auto parts = model_parts(course, program);
  if (!parts) return exit_interrupted;
  const Built built = build_model(course, program, *parts);
  if (!built.ok) return exit_code_of(course, built);
  course.print(parts_text(*parts, program) + "\n");
  become_program(course, program, words);
}

int run_reference(const Course& course, const std::string& program, const std::vector<std::string>& words,
                  const std::string& says) {
  const Built built = build_program(course, program);
  if (!built.ok) return exit_code_of(course, built);
  course.print(says + "\n");
  become_program(course, program, words);
}

int run_own_backward_pass(const Course& course, const std::vector<std::string>& words) {
  const std::string program = "train_mine";
  std::vector<ModelPart> parts;
  std::vector<std::string> own;
  for (const char* number : {"24", "25", "26", "27"}) {
    const Lesson lesson = lesson::find_lesson(course.root, number);
    parts.push_back({lesson, edited(lesson), ""});
    if (parts.back().own) own.push_back(lesson.title());
  }
  if (own.empty()) {
    throw std::invalid_argument(
        "--break mine trains with your files of lessons 24 to 27, and nothing is written there yet: ./learn 24");
  }
  const Built built = build_with(course, program, parts);
  if (!built.ok) {
    const int code = exit_code_of(course, built);
    if (!built.stopped)
      course.print("Your files of " + joined(own, ", ") + " do not build: see the first error above.");
    return code;
  }
  return run_reference(
      course, "train_break_solution", words,
      "One training runs your files of " + joined(own, ", ") +
          " as they are, with the reference's for the rest; the other one runs the reference's alone.");
}

}  // namespace attn::learn
