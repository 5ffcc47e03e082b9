#pragma once

/// Ctrl-C, for programs that end in order: what they were doing is finished, and what there is, is shown.
namespace attn {

constexpr int exit_interrupted = 130;  ///< as a shell reports it

/// From now on the first Ctrl-C is only noted. A later one ends the program, as it may take long to come to an end; but
/// not one that comes at once: some send the signal both to us and to our group.
void catch_interrupts();

/// Likewise for a program that saves what it has: SIGTERM, and the end of its terminal unless that is ignored (nohup).
void catch_termination();

bool was_interrupted();

/// As a shell reports it: exit_interrupted after Ctrl-C, 143 after SIGTERM.
int exit_code_of_interrupt();

}  // namespace attn
