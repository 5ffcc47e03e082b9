#pragma once

#include <functional>
#include <string>

#include "attn/todo.hpp"

/// How programs end that run what a learner wrote. After Ctrl-C they end in order: what they were doing is finished, and
/// what there is, is shown.
namespace attn {

constexpr int exit_interrupted = 130;  ///< as a shell reports it

/// From now on the first Ctrl-C is only noted. A later one ends the program, as it may take long to come to an end; but
/// not one that comes at once: some send the signal both to us and to our group.
void catch_interrupts();

/// Likewise for a program that has nothing to save: if it has not come to an end half a second later, it ends there.
void catch_interrupts_shortly();

/// Likewise for a program that saves what it has: SIGTERM, and the end of its terminal unless that is ignored (nohup).
void catch_termination();

/// From now on a write beyond the limit of file sizes (ulimit -f) fails as on a full disk, and does not end the program.
void let_large_writes_fail();

bool was_interrupted();

/// As a shell reports it: exit_interrupted after Ctrl-C, 143 after SIGTERM.
int exit_code_of_interrupt();

/// `code`; but 2, with a sentence, where what was printed could not be written: to a file on a full disk.
int exit_code_when_printed(int code);

/// A learner's code may write anywhere, though its checks pass: when the program crashes, this is printed before it
/// ends.
/// @param text lives as long as the program
void report_crashes(const char* text);

/// Reports that a demonstration needs a task that is not written yet, and how to see it with the reference.
/// @return the exit code of the demonstration
int report_not_written(const NotWritten& error);

/// A demonstration's main function: catches what the learner's code throws.
/// @param number of the lesson, "16"
int run_demonstration(const std::string& number, const std::function<void()>& show);

}  // namespace attn
