package view

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// wrap breaks a text at spaces into lines of at most `width` characters.
func wrap(s string, width int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(s) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width:
			line += " " + word
		default:
			lines, line = append(lines, broken(line, width)...), word
		}
	}
	return append(lines, broken(line, width)...)
}

// broken splits a text into lines of `width` characters, even within a word.
func broken(s string, width int) (lines []string) {
	for part := range slices.Chunk([]rune(s), max(1, width)) {
		lines = append(lines, string(part))
	}
	if len(lines) == 0 {
		return []string{""}
	}
	return lines
}

// clip returns the first `width` characters of s.
func clip(s string, width int) string {
	r := []rune(s)
	return string(r[:min(len(r), width)])
}

// cut shortens a name or key to n characters by removing its middle. An address must not be cut,
// because the rest may read as another address.
func cut(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	if n <= 2 {
		return string(r[:n])
	}
	head := (n - 2) / 2
	return string(r[:head]) + ".." + string(r[len(r)-(n-2-head):])
}

// apart places two texts at both ends of a line of `width` characters. Each of the two texts is
// given in several forms, the longest first. If the line is too long, the function apart() shortens
// the right text first.
func apart(left, right []string, width int) string {
	for _, l := range left {
		for _, r := range right {
			if gap := width - utf8.RuneCountInString(l) - utf8.RuneCountInString(r); gap > 0 {
				return l + strings.Repeat(" ", gap) + r
			}
		}
	}
	return clip(left[len(left)-1], width)
}
