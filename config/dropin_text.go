package config

import "io/fs"

// DropInText is the text of a drop-in file, or the error of reading it.
type DropInText struct {
	File string
	Text []byte
	Err  error
}

// DropInTexts returns the texts of the first most files of c's drop-in directory, in order of
// precedence. It also returns the number of further files. It reads a file as carefully as
// the daemon does, because the reader may be root, and the file another user's.
func DropInTexts(c *Config, most int) (texts []DropInText, more int, err error) {
	owner, err := c.dropInOwner()
	if err != nil {
		return nil, 0, err
	}
	dir, err := openPeerDir(c.PeersDir, owner)
	if err != nil {
		return nil, 0, c.dirError(err)
	}
	defer dir.close()
	files, err := dir.list(func(string) fs.FileInfo { return nil })
	if err != nil {
		return nil, 0, c.dirError(err)
	}
	shown := min(len(files), most)
	for _, f := range files[:shown] {
		text, _, err := dir.read(f.name)
		texts = append(texts, DropInText{f.file, text, err})
	}
	return texts, len(files) - shown, nil
}
