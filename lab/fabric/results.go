package main

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/srdtun/srdtun/lab/compare"
)

// results holds the records of a file, to which new records are appended.
type results struct {
	file *os.File
	all  []compare.Record
}

// openResults reads a file of records. If the last line is incomplete, openResults removes this
// line from the file.
func openResults(name string) (*results, error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return nil, err
	}
	r := &results{}
	f, err := os.Open(name)
	if err == nil {
		r.all, err = compare.Read(f)
		f.Close()
	}
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	if r.file, err = os.Create(name); err != nil {
		return nil, err
	}
	w := json.NewEncoder(r.file)
	for i := range r.all {
		if err := w.Encode(&r.all[i]); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (r *results) add(x *compare.Record) error {
	r.all = append(r.all, *x)
	return json.NewEncoder(r.file).Encode(x)
}
