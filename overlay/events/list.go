package events

import "fmt"

// MostListed bounds the addresses in one line.
const MostListed = 4

// List returns v as text: its first elements, and the number of the others.
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
