#pragma once

#include <string>

/// Chapters as text of a terminal's width: a pager would break their lines inside words.
namespace attn::learn {

/// Markdown without its comments, which are for the course's own programs.
std::string without_comments(const std::string& markdown);

/// A chapter's Markdown as it is read: without comments, folded answers open, and pictures as what they show.
std::string unfolded(const std::string& chapter);

/// Markdown as text without markup: paragraphs, lists, tables and code, broken between words.
std::string chapter_text(const std::string& markdown, int columns);

/// Markdown for lowdown, which breaks paragraphs itself: tables that are too wide become code, whose cells are broken between
/// words, and so are the lines of code.
std::string with_narrow_tables(const std::string& markdown, int columns);

/// Rows with escape sequences, broken between words where they are too wide: lowdown does not break before a link or code.
std::string with_narrow_rows(const std::string& formatted, int columns);

}  // namespace attn::learn
