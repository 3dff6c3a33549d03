package config

import "io/fs"

// DropInText is the text of a drop-in file, or why it is not read.
type DropInText struct {
	File string
	Text []byte
	Err  error
}

// DropInTexts returns the texts of the first files of c's drop-in directory, in the order in
// which they count, and how many there are besides. A file is read as the daemon reads it: its
// owner may be somebody else than the reader, who may be root.
func DropInTexts(c *Config, most int) (texts []DropInText, more int, err error) {
	owner, err := c.dropInOwner()
	if err != nil {
		return nil, 0, err
	}
	dir, err := openPeerDir(c.PeersDir, owner)
	if err != nil {
		return nil, 0, &Error{File: c.PeersDir, Msg: err.Error(), cause: err}
	}
	defer dir.close()
	files, err := dir.list(func(string) fs.FileInfo { return nil })
	if err != nil {
		return nil, 0, &Error{File: c.PeersDir, Msg: err.Error(), cause: err}
	}
	shown := min(len(files), most)
	for _, f := range files[:shown] {
		text, _, err := dir.read(f.name)
		texts = append(texts, DropInText{f.file, text, err})
	}
	return texts, len(files) - shown, nil
}
