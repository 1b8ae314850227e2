package quota

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// savedFormat is the number of the form in which configurations are saved. It rises
// whenever an older version would read the new form as something else.
const savedFormat = 1

type saved struct {
	Format int     `json:"format"`
	Config *Config `json:"config"`
}

// Encode returns the form in which a configuration is saved, the same bytes for the
// same configuration. It does not validate.
func Encode(c Config) ([]byte, error) {
	data, err := json.Marshal(saved{savedFormat, &c})
	if err != nil {
		return nil, fmt.Errorf("encode configuration: %w", err)
	}
	return data, nil
}

// Decode reads what [Encode] of this version or an older one returned. It does not
// validate. What a newer version saved is refused: leaving out the members that are
// not known here would enforce something else than was asked for.
func Decode(data []byte) (Config, error) {
	var form struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(data, &form); err != nil {
		return Config{}, fmt.Errorf("decode configuration: %w", err)
	}
	if form.Format != savedFormat {
		return Config{}, fmt.Errorf("decode configuration: it is saved in format %d, and this version reads format %d: install the version that saved it", form.Format, savedFormat)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	var s saved
	if err := decoder.Decode(&s); err != nil {
		return Config{}, fmt.Errorf("decode configuration: %w", err)
	}
	if s.Config == nil {
		return Config{}, errors.New("decode configuration: there is none in it")
	}
	return *s.Config, nil
}
