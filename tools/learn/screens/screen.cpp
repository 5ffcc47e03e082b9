#include "learn/screens/screen.hpp"

#include <utility>

#include "learn/machine/machine.hpp"
#include "learn/screens/programs.hpp"

namespace attn::learn {

void Screen::run() {
  constexpr std::chrono::milliseconds tick{200};
  bool changed = true;
  while (!closed_) {
    if (changed || is_moving()) draw();
    const Key key = terminal_.wait(tick, wake_fds());
    changed = key != keys::none;
    try {
      if (changed && key != keys::redraw) handle(key);
      changed = advance() || changed;
    } catch (const std::exception& error) {
      note_ = error.what();
      changed = true;
    }
  }
}

std::vector<int> Screen::wake_fds() {
  std::vector<int> fds = {wake_fd()};
  for (const Job* job : jobs()) fds.push_back(job == nullptr ? -1 : job->wake_fd());
  return fds;
}

void Screen::draw() {
  course_.style = terminal_.style();  // its width may have changed
  Page page{header(), {}, status(), {}};
  if (!note_.empty()) page.footer.emplace_back(note_);
  append(page.footer, key_lines(keys(), terminal_.columns()));
  try {
    page.body = on_yes_ ? Lines{question_, "", "y yes   any other key no"} : body();
  } catch (const std::exception& error) {
    page.body = {error.what()};
  }
  terminal_.show(page);
}

void Screen::handle(Key key) {
  if (key == keys::suspend) return suspend();
  note_.clear();
  if (key == keys::closed) return close();
  if (key == keys::ctrl_c) return interrupt();
  if (on_yes_) return answer(key);
  if (terminal_.is_in_word(key)) return;
  if (!press(key) && !terminal_.scroll(key)) terminal_.begin_word_with(key);
}

void Screen::answer(Key key) {
  const auto yes = std::exchange(on_yes_, nullptr);
  if (key == 'y') return yes();
  note_ = "Nothing was changed.";
}

void Screen::suspend() {
  const auto running = jobs();
  for (Job* job : running) {
    if (job != nullptr) job->pause();
  }
  terminal_.suspend();
  for (Job* job : running) {
    if (job != nullptr) job->resume();
  }
}

void Screen::turn_page() {
  terminal_.scroll_to(0);
  on_yes_ = nullptr;
}

void Screen::ask(const std::string& question, std::function<void()> yes) {
  turn_page();
  question_ = question;
  on_yes_ = std::move(yes);
}

void Screen::edit(const lesson::Lesson& lesson, const Lines& verdict) {
  const auto command = editor_command(lesson, verdict);
  if (command.empty()) {
    note_ = "No editor is set. For example: export EDITOR=nano";
  } else if (terminal_.lend(command, course_.root.string()) == 127) {
    note_ = "The editor in $EDITOR could not be started.";
  }
}

void Screen::read_chapter(const lesson::Lesson& lesson) {
  const int exit_code = terminal_.lend(reader_command(lesson, terminal_.columns()), course_.root.string());
  if (exit_code == 127) note_ = "The pager in $PAGER could not be started.";
  if (exit_code == 0 && find_program("lowdown").empty()) note_ = "Chapters look better with " + install("lowdown");
}

}  // namespace attn::learn
