package events

import "fmt"

// Level is the importance of an event. The zero value of Level is Debug.
type Level uint8

// The levels of events are some of those in syslog(3).
const (
	Debug   Level = iota // for debugging this program
	Info                 // normal, and useful for later investigation
	Notice               // a change that people may ask about later
	Warning              // a part works badly
	Error                // a part does not work at all
	numLevels
)

var levelNames = [numLevels]string{"debug", "info", "notice", "warning", "error"}

// String returns the level's name, for instance "warning".
func (l Level) String() string {
	if l < numLevels {
		return levelNames[l]
	}
	return "unknown"
}

// Priority returns the level's number in syslog(3).
func (l Level) Priority() int {
	return [numLevels]int{Debug: 7, Info: 6, Notice: 5, Warning: 4, Error: 3}[min(l, Error)]
}

// MarshalText implements encoding.TextMarshaler.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (l *Level) UnmarshalText(b []byte) error {
	for i, name := range levelNames {
		if name == string(b) {
			*l = Level(i)
			return nil
		}
	}
	return fmt.Errorf("events: unknown level %.32q", b)
}
