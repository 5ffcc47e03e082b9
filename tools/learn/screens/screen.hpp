#pragma once

#include <functional>
#include <string>
#include <vector>

#include "learn/commands/curriculum.hpp"
#include "learn/machine/job.hpp"
#include "learn/screens/terminal.hpp"
#include "learn/screens/views.hpp"

namespace attn::learn {

/// What watch, interview and review have in common: keys, scrolling, drawing, questions to be answered with y, jobs
/// that run meanwhile, and suspension. Each of them says what happens and what is shown.
class Screen {
 public:
  virtual ~Screen() = default;
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  /// Returns when the screen was closed or the terminal is gone.
  void run();

 protected:
  explicit Screen(Course& course) : course_(course), terminal_(course.style) {}

  /// @return whether the screen uses this key; other keys scroll
  virtual bool press(Key key) = 0;

  /// Ctrl-C was pressed.
  virtual void interrupt() = 0;

  /// Goes on with what happens without a key. @return whether there is something new to show
  virtual bool advance() { return false; }

  /// The page as it is now. What body() throws is shown instead: a file may be missing while an editor replaces it. The
  /// status is below the body and does not scroll, the most important line first; the note and the keys follow.
  virtual Lines header() const = 0;
  virtual Lines body() const = 0;
  virtual Lines status() const { return {}; }
  virtual Keys keys() const = 0;

  /// Whether the page changes by itself, and is drawn at every tick.
  virtual bool is_moving() const { return false; }

  /// The jobs that run, null where none does: what they report wakes the screen, and they pause while it is suspended.
  virtual std::vector<Job*> jobs() { return {}; }

  /// Something else that wakes the screen when it is readable; -1 for nothing.
  virtual int wake_fd() const { return -1; }

  void close() { closed_ = true; }

  /// For a page that is another one than before: it begins at its top, and no question is open.
  void turn_page();

  /// Shows a question instead of the page's body. The next key answers it: y is yes, any other key is no.
  void ask(const std::string& question, std::function<void()> yes);

  /// Opens the learner's editor on the files of a lesson.
  /// @param verdict what was said of them: the editor begins at the line that it names
  void edit(const lesson::Lesson& lesson, const Lines& verdict);

  /// Shows the chapter of a lesson, in a pager or an editor.
  void read_chapter(const lesson::Lesson& lesson);

  bool plain() const { return terminal_.style().plain; }

  Course& course_;
  Terminal terminal_;
  std::string note_;  ///< shown until the next key

 private:
  std::vector<int> wake_fds();
  void draw();
  void handle(Key key);
  void answer(Key key);
  void suspend();

  std::string question_;
  std::function<void()> on_yes_;
  bool closed_ = false;
};

}  // namespace attn::learn
