package config

import "io/fs"

// DropInText is the text of a drop-in file, or the error of reading it.
type DropInText struct {
	File string
	Text []byte
	Err  error
}

// DropInTexts returns the texts of the first `limit` drop-in files of c, in order of precedence,
// and the number of the other files. It opens files with the same checks as the daemon, because
// root may run it on another user's files.
func DropInTexts(c *Config, limit int) (texts []DropInText, more int, err error) {
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
	shown := min(len(files), limit)
	for _, f := range files[:shown] {
		text, _, err := dir.read(f.name)
		texts = append(texts, DropInText{f.file, text, err})
	}
	return texts, len(files) - shown, nil
}
