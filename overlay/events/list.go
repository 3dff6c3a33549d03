package events

import "fmt"

// MostListed bounds the addresses that one line has.
const MostListed = 4

// List is v in words, for a text: the first of many, and how many more there are.
func List[T fmt.Stringer](v []T) (text string) {
	for i, a := range v {
		switch {
		case i == MostListed:
			return fmt.Sprintf("%s and %d more", text, len(v)-i)
		case i > 0:
			text += ", "
		}
		text += a.String()
	}
	return text
}
