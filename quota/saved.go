package quota

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
)

// savedFormat is the number of the form in which configurations are saved. It rises
// whenever an older version would read the new form as something else.
const savedFormat = 2

// A Manifest is a configuration as it is saved: in parts that it names. A part never
// changes; what is saved next has other parts in place of those that differ, and
// shares the rest.
type Manifest struct {
	// Version grows with every change.
	Version     int64  `json:"version"`
	DefaultPlan string `json:"default_plan,omitempty"`
	// Plans is the part that has the plans; empty while there are none.
	Plans string `json:"plans,omitempty"`
	// Tenants are the parts that have the tenants, each in the one of [PartOf]. Their
	// number is a power of two, or 0; an empty name is a part without tenants.
	Tenants []string `json:"tenants,omitempty"`
	// Count is how many tenants there are.
	Count int `json:"count,omitzero"`

	// The rest is for those who save.

	// Dropped are the parts of the version before that this one has not.
	Dropped []string `json:"dropped,omitempty"`
	// Swept is when parts that no version has were looked for, in Unix milliseconds.
	Swept int64 `json:"swept,omitzero"`
}

// A SavedPlan is a plan with the version of its last change.
type SavedPlan struct {
	Plan
	Revision int64 `json:"revision"`
}

// A SavedTenant is a tenant with the version of its last change.
type SavedTenant struct {
	Tenant
	Revision int64 `json:"revision"`
	// Generation is the version that began all counts of the tenant afresh; 0 when none did.
	Generation int64 `json:"generation,omitzero"`
	// Generations are the same of single limits, by name.
	Generations map[string]int64 `json:"generations,omitempty"`
}

// PartOf returns which of so many parts, a power of two, has the tenant.
func PartOf(tenant string, parts int) int {
	if parts < 2 {
		return 0
	}
	sum := sha256.Sum256([]byte(tenant))
	return int(binary.BigEndian.Uint32(sum[:]) & uint32(parts-1))
}

// Encode returns the form in which the manifest is saved.
func (m Manifest) Encode() ([]byte, error) { return encode(m) }

// DecodeManifest reads what [Manifest.Encode] returned. What another version saved
// in a form that is not known here is refused: leaving out the members that are not
// known would enforce something else than was asked for.
func DecodeManifest(data []byte) (Manifest, error) {
	m, err := decode[Manifest](data)
	if err == nil && bits.OnesCount(uint(len(m.Tenants))) > 1 {
		return Manifest{}, fmt.Errorf("decode configuration: tenants are in %d parts, which is no power of two", len(m.Tenants))
	}
	return m, err
}

// EncodePlans returns the part that has these plans, the same bytes for the same plans.
func EncodePlans(plans map[string]SavedPlan) ([]byte, error) { return encode(plans) }

// DecodePlans reads what [EncodePlans] returned, as strictly as [DecodeManifest]. It does not validate.
func DecodePlans(data []byte) (map[string]SavedPlan, error) {
	return decode[map[string]SavedPlan](data)
}

// EncodeTenants returns the part that has these tenants, the same bytes for the same tenants.
func EncodeTenants(tenants map[string]SavedTenant) ([]byte, error) { return encode(tenants) }

// DecodeTenants reads what [EncodeTenants] returned, as strictly as [DecodeManifest]. It does not validate.
func DecodeTenants(data []byte) (map[string]SavedTenant, error) {
	return decode[map[string]SavedTenant](data)
}

type form[T any] struct {
	Format int `json:"format"`
	Saved  *T  `json:"saved"`
}

func encode[T any](v T) ([]byte, error) {
	data, err := json.Marshal(form[T]{savedFormat, &v})
	if err != nil {
		return nil, fmt.Errorf("encode configuration: %w", err)
	}
	return data, nil
}

func decode[T any](data []byte) (v T, err error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	var s form[T]
	err = decoder.Decode(&s)
	if other := formatOf(data, s.Format, err); other != savedFormat {
		return v, fmt.Errorf("decode configuration: it is saved in format %d, and this version reads format %d: install the version that saved it", other, savedFormat)
	}
	switch {
	case err != nil:
		return v, fmt.Errorf("decode configuration: %w", err)
	case s.Saved == nil:
		return v, fmt.Errorf("decode configuration: there is none in it")
	case decoder.More():
		return v, fmt.Errorf("decode configuration: something follows it")
	}
	return *s.Saved, nil
}

// formatOf returns the format of a document. One that could not be read strictly may
// be of a form that is not known: only its number is read again.
func formatOf(data []byte, read int, err error) int {
	if err == nil {
		return read
	}
	var form struct {
		Format int `json:"format"`
	}
	if json.Unmarshal(data, &form) != nil {
		return savedFormat // it is not of any form
	}
	return form.Format
}

// ErrNoPart says that a part is not there. A newer manifest does not name it.
var ErrNoPart = errors.New("there is no such part")
