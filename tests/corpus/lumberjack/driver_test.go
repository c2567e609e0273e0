package lumberjack_test

import (
	"path/filepath"
	"testing"

	"gopkg.in/natefinch/lumberjack.v2"
)

// Rotating starts a goroutine that Close() does not end.
func TestCorpus(t *testing.T) {
	l := &lumberjack.Logger{Filename: filepath.Join(t.TempDir(), "x.log"), MaxBackups: 1}
	if _, err := l.Write([]byte("a line\n")); err != nil {
		t.Fatal(err)
	}
	if err := l.Rotate(); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}
