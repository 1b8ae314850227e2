package configstore

import (
	"context"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"time"

	"github.com/seed43908478/penstock/quota"
)

// A draft is a change on its way: the next version of the configuration. What a
// change asks for is loaded, what it replaces is written.
type draft struct {
	store    *Store
	manifest quota.Manifest // as it was read
	version  int64          // of what is drafted
	now      time.Time

	defaultPlan string
	plans       map[string]quota.SavedPlan // nil: not loaded
	ownPlans    bool                       // plans are the draft's and were changed
	parts       []partition
	count       int

	puts    []Item // beside the manifest
	deletes []Key
	entry   Entry // no action: nothing changes

	progress func(done, total int)
	// written are the names of parts that an earlier attempt has written, by digest.
	written map[string]string
}

// A partition is the tenants of one part.
type partition struct {
	loaded  bool
	own     bool // the map is the draft's and was changed
	tenants map[string]quota.SavedTenant
}

func (s *Store) draft(ctx context.Context) (*draft, error) {
	m, err := s.manifest(ctx)
	if err != nil {
		return nil, err
	}
	now := s.now()
	return &draft{
		store: s, manifest: m, now: now,
		// Greater than any before, and than any of a table that was lost or set back.
		version:     max(m.Version+1, now.UnixMilli()),
		defaultPlan: m.DefaultPlan, parts: make([]partition, len(m.Tenants)), count: m.Count,
	}, nil
}

// allPlans returns the plans. They are shared.
func (d *draft) allPlans(ctx context.Context) (map[string]quota.SavedPlan, error) {
	if d.plans == nil {
		plans, err := d.store.plans(ctx, d.manifest.Plans)
		if err != nil {
			return nil, err
		}
		if plans == nil {
			plans = map[string]quota.SavedPlan{}
		}
		d.plans = plans
	}
	return d.plans, nil
}

// ownedPlans returns the plans to be changed.
func (d *draft) ownedPlans(ctx context.Context) (map[string]quota.SavedPlan, error) {
	plans, err := d.allPlans(ctx)
	if err == nil && !d.ownPlans {
		d.plans, d.ownPlans = maps.Clone(plans), true
	}
	return d.plans, err
}

// plain returns the plans as a configuration has them.
func plain(plans map[string]quota.SavedPlan) map[string]quota.Plan {
	all := make(map[string]quota.Plan, len(plans))
	for name, p := range plans {
		all[name] = p.Plan
	}
	return all
}

// tenant returns a tenant.
func (d *draft) tenant(ctx context.Context, name string) (t quota.SavedTenant, ok bool, err error) {
	if len(d.parts) == 0 {
		return t, false, nil
	}
	p, err := d.partition(ctx, quota.PartOf(name, len(d.parts)))
	if err != nil {
		return t, false, err
	}
	t, ok = p.tenants[name]
	return t, ok, nil
}

func (d *draft) partition(ctx context.Context, i int) (*partition, error) {
	p := &d.parts[i]
	if !p.loaded {
		tenants, err := d.store.tenants(ctx, d.manifest.Tenants[i])
		if err != nil {
			return nil, err
		}
		*p = partition{loaded: true, tenants: tenants}
	}
	return p, nil
}

// loadAll loads the tenants of all parts.
func (d *draft) loadAll(ctx context.Context) error {
	all, err := d.store.allTenants(ctx, d.manifest.Tenants)
	if err != nil {
		return err
	}
	for i := range d.parts {
		if !d.parts[i].loaded {
			d.parts[i] = partition{loaded: true, tenants: all[i]}
		}
	}
	return nil
}

// set puts a tenant in place of what there is, or with nil nothing.
func (d *draft) set(ctx context.Context, name string, t *quota.SavedTenant) error {
	if len(d.parts) == 0 {
		d.parts = []partition{{loaded: true}}
	}
	p, err := d.partition(ctx, quota.PartOf(name, len(d.parts)))
	if err != nil {
		return err
	}
	if !p.own {
		p.tenants, p.own = maps.Clone(p.tenants), true
		if p.tenants == nil {
			p.tenants = map[string]quota.SavedTenant{}
		}
	}
	d.count -= len(p.tenants)
	if t == nil {
		delete(p.tenants, name)
	} else {
		p.tenants[name] = *t
	}
	d.count += len(p.tenants)
	return nil
}

// spread distributes the tenants over so many parts.
func (d *draft) spread(ctx context.Context, parts int) error {
	if parts > maxParts {
		return fmt.Errorf("configstore: %d tenants are too many, or what one of them has is too large: it would take %d parts, and there are %d at most", d.count, parts, maxParts)
	}
	if err := d.loadAll(ctx); err != nil {
		return err
	}
	next := make([]partition, parts)
	for i := range next {
		next[i] = partition{loaded: true, own: true, tenants: make(map[string]quota.SavedTenant, d.count/parts)}
	}
	for _, p := range d.parts {
		for name, t := range p.tenants {
			next[quota.PartOf(name, parts)].tenants[name] = t
		}
	}
	d.parts = next
	return nil
}

// commit writes the draft: parts first, which nobody knows yet, then the manifest that
// names them with all that belongs to the change. The error is [ErrConflict] when the
// manifest is not any more what was read.
func (d *draft) commit(ctx context.Context, by By) error {
	next, err := d.write(ctx)
	if err != nil {
		return err
	}
	data, err := next.Encode()
	if err != nil {
		return err
	}
	entries, err := d.audit(by)
	if err != nil {
		return err
	}
	return d.store.items.Transact(ctx, Transaction{
		If:      []Condition{{manifestKey, d.manifest.Version}},
		Puts:    append(append([]Item{{Key: manifestKey, Version: d.version, Data: data}}, entries...), d.puts...),
		Deletes: d.deletes,
	})
}

// write writes the parts that changed and returns the manifest that names all of them.
func (d *draft) write(ctx context.Context) (quota.Manifest, error) {
	next := quota.Manifest{
		Version: d.version, DefaultPlan: d.defaultPlan, Plans: d.manifest.Plans, Count: d.count, Swept: d.manifest.Swept,
	}
	if d.manifest.Version == 0 || d.sweepDue() {
		next.Swept = d.now.UnixMilli()
	}
	var pieces []piece
	if d.ownPlans {
		data, err := quota.EncodePlans(d.plans)
		if err != nil {
			return next, err
		}
		packed := pack(data)
		if len(packed) > MaxData {
			return next, fmt.Errorf("configstore: the %d plans are too large: compressed they have %d bytes, and %d can be stored", len(d.plans), len(packed), MaxData)
		}
		next.Plans = d.add(&pieces, data, packed)
	}
	tenants, err := d.pieces(ctx, &pieces)
	if err != nil {
		return next, err
	}
	next.Tenants = tenants
	kept := named(next)
	for name := range named(d.manifest) {
		if !kept[name] {
			next.Dropped = append(next.Dropped, name)
		}
	}
	slices.Sort(next.Dropped)
	if err := d.store.putParts(ctx, pieces, d.progress); err != nil {
		return next, err
	}
	for _, p := range pieces {
		d.written[p.name[nameLen-digestLen:]] = p.name
	}
	return next, nil
}

// named returns the parts that a manifest names.
func named(m quota.Manifest) map[string]bool {
	names := make(map[string]bool, len(m.Tenants)+1)
	for _, name := range append([]string{m.Plans}, m.Tenants...) {
		if name != "" {
			names[name] = true
		}
	}
	return names
}

// pieces adds the parts of tenants that changed, and returns the names of all. There
// are more parts than before when one would be too large.
func (d *draft) pieces(ctx context.Context, pieces *[]piece) ([]string, error) {
	if d.count > partTenants*max(1, len(d.parts)) {
		if err := d.spread(ctx, 1<<bits.Len(uint((d.count-1)/partTenants))); err != nil {
			return nil, err
		}
	}
	for {
		own := slices.Clone(*pieces)
		names, ok, err := d.packTenants(&own)
		if err != nil {
			return nil, err
		}
		if ok {
			*pieces = own
			return names, nil
		}
		if err := d.spread(ctx, 2*len(d.parts)); err != nil {
			return nil, err
		}
	}
}

func (d *draft) packTenants(pieces *[]piece) (names []string, ok bool, err error) {
	names = make([]string, len(d.parts))
	for i, p := range d.parts {
		switch {
		case !p.own:
			names[i] = d.manifest.Tenants[i]
			continue
		case len(p.tenants) == 0:
			continue
		}
		data, err := quota.EncodeTenants(p.tenants)
		if err != nil {
			return nil, false, err
		}
		packed := pack(data)
		if len(packed) > partSize {
			return nil, false, nil // no tenant is that large alone: see checkSize
		}
		names[i] = d.add(pieces, data, packed)
	}
	return names, true, nil
}

// add adds a part to what is to be written, unless an earlier attempt has, and returns its name.
func (d *draft) add(pieces *[]piece, data, packed []byte) string {
	name, ok := d.written[digest(data)]
	if !ok {
		name = partName(d.now, data)
		*pieces = append(*pieces, piece{name, packed})
	}
	return name
}
