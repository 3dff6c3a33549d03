package events

import "fmt"

// MostListed is the largest number of addresses in one line of an event.
const MostListed = 4

// List returns the first elements of v as text, followed by the number of the others.
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
