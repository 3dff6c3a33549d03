package picture

// Figure is the input of srdplot: lines over an axis, panels of bars, or a table. The labels of a
// Figure contain its units.
type Figure struct {
	Title    string  `json:"title"`
	Subtitle string  `json:"subtitle"`
	X        string  `json:"x,omitempty"` // label of the X axis
	Y        string  `json:"y,omitempty"`
	YMax     float64 `json:"y_max,omitempty"` // 0 means from the data
	XLog     bool    `json:"x_log,omitempty"` // logarithmic X axis; all X values must be above 0
	YLog     bool    `json:"y_log,omitempty"` // logarithmic Y axis; spans are then not allowed
	Lines    []Line  `json:"lines,omitempty"`
	Spans    []Span  `json:"spans,omitempty"`
	Marks    []Mark  `json:"marks,omitempty"`
	Panels   []Panel `json:"panels,omitempty"` // replaces lines and their parts
}

// Line is one series of values. The position of a line in the figure determines its colour.
type Line struct {
	Name   string       `json:"name"`
	Points [][2]float64 `json:"points"`
	// Label is written next to the line at LabelAt. srdplot moves the label to where it hides less
	// and overlaps no other text. If Label is empty, only the legend has the line's name.
	Label   string     `json:"label,omitempty"`
	LabelAt [2]float64 `json:"label_at,omitzero"`
	// Note is a remark at NoteAt on the line or near it; "" means no remark.
	Note   string     `json:"note,omitempty"`
	NoteAt [2]float64 `json:"note_at,omitzero"`
}

// Span shades the figure between two values on the X axis.
type Span struct {
	From    float64 `json:"from"`
	To      float64 `json:"to"`
	Caption string  `json:"caption"`
}

// Mark is a thin line across the figure at one Y value.
type Mark struct {
	Y       float64 `json:"y,omitempty"`
	Caption string  `json:"caption"`
}

// Panel is a group of bars with its own scale, which starts at zero.
type Panel struct {
	Title string `json:"title"`
	Unit  string `json:"unit"` // unit, and whether more or less is better
	Bars  []Bar  `json:"bars"`
}

// Bar is a value, drawn as a bar, with a range around it, drawn as a line.
type Bar struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Tone  Tone    `json:"tone"`
}

// Tone is the role of a bar in its panel, which determines the colour.
type Tone int

const (
	Own    Tone = iota // the subject of the picture
	Other              // a competitor of the subject
	Orient             // a reference value
)
