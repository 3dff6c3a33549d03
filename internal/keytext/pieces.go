package keytext

import "strings"

// LeastPiece is the least number of successive characters of a secret that Pieces hides. Sixteen
// characters of base64 are 96 bits of a key.
const LeastPiece = 16

// Pieces hides known secrets, and their pieces of at least LeastPiece characters, in any text.
// The zero value of Pieces has no secrets.
type Pieces struct{ known map[string]struct{} }

// Add adds a secret. A secret shorter than LeastPiece has no pieces.
func (p *Pieces) Add(secret string) {
	if p.known == nil {
		p.known = map[string]struct{}{}
	}
	for i := 0; i+LeastPiece <= len(secret); i++ {
		p.known[secret[i:i+LeastPiece]] = struct{}{}
	}
}

// Hide replaces all pieces in a text. Pieces that overlap or touch are replaced as one.
func (p *Pieces) Hide(text string) string {
	if len(p.known) == 0 {
		return text
	}
	var out strings.Builder
	shown, end := 0, -1 // the piece so far is text[shown:end]; -1: there is none
	for i := 0; i+LeastPiece <= len(text); i++ {
		if _, secret := p.known[text[i:i+LeastPiece]]; !secret {
			continue
		}
		if end < i {
			out.WriteString(text[shown:i])
			out.WriteString(Hidden)
		}
		end = i + LeastPiece
		shown = end
	}
	return out.String() + text[shown:]
}
