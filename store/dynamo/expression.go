package dynamo

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/seed43908478/penstock/limit"
	"github.com/seed43908478/penstock/store"
)

const (
	keyAttribute    = "pk"
	expiryAttribute = "expires_at"
	logRegister     = "log" // what a limit's log is called beside its registers

	// appendAt is an index beyond every list: elements set there are appended, in the
	// order of their indices.
	appendAt = 99_999

	// What DynamoDB takes in one expression.
	maxExpression = 4096 // bytes
	maxOperators  = 300  // and functions
)

// An expression is a write in DynamoDB's words. Texts of it are constants and
// numbers: names and values are always referred to, as #0 and :0.
type expression struct {
	condition strings.Builder
	set       strings.Builder
	remove    strings.Builder

	names  []string
	values []types.AttributeValue
	// numbers holds the value of each element of values that is a number.
	numbers []number

	conditions, updates int // operators
}

type number struct {
	value int64
	ok    bool
}

// express puts a write into an expression.
func express(parts []store.Part, expiresAt time.Time) *expression {
	e := &expression{}
	if !expiresAt.IsZero() {
		e.clause(&e.set, "SET ")
		e.name(&e.set, expiryAttribute)
		e.set.WriteString(" = ")
		e.number(&e.set, epoch(expiresAt))
	}
	for i := range parts {
		p := partOf(&parts[i])
		for j := range p.Guards {
			e.guard(p, &p.Guards[j])
		}
		e.presence(p)
		e.registers(p)
		e.log(p)
	}
	return e
}

// epoch is in whole seconds, rounded up.
func epoch(t time.Time) int64 {
	if t.Nanosecond() > 0 {
		return t.Unix() + 1
	}
	return t.Unix()
}

// update is the update expression; empty when nothing changes.
func (e *expression) update() string {
	if e.set.Len() > 0 && e.remove.Len() > 0 {
		return e.set.String() + " " + e.remove.String()
	}
	return e.set.String() + e.remove.String()
}

// check says whether DynamoDB would take the expression.
func (e *expression) check() error {
	switch size := max(e.condition.Len(), e.set.Len()+1+e.remove.Len()); {
	case size > maxExpression:
		return fmt.Errorf("an expression of %d bytes, above %d", size, maxExpression)
	case max(e.conditions, e.updates) > maxOperators:
		return fmt.Errorf("an expression of %d operators, above %d", max(e.conditions, e.updates), maxOperators)
	}
	return nil
}

// A limited is a part with the names of its attributes.
type limited struct {
	*store.Part
	logName string
}

func partOf(p *store.Part) limited { return limited{p, attribute(p.Limit, logRegister)} }

// attribute is the name of the attribute of a register.
func attribute(limitName, register string) string { return limitName + "." + register }

func (e *expression) guard(p limited, g *limit.Guard) {
	switch g.Kind {
	case limit.RegisterIn:
		e.and()
		e.within(operand{attribute: attribute(p.Limit, g.Register)}, g)
	case limit.RegisterInOrAbsent:
		e.orAbsent(operand{attribute: attribute(p.Limit, g.Register)}, g)
	case limit.SizeIn:
		e.and()
		e.within(operand{attribute: p.logName, size: true}, g)
	case limit.SizeInOrAbsent:
		e.orAbsent(operand{attribute: p.logName, size: true}, g)
	case limit.ElementsIn:
		for i := range g.N {
			e.and()
			e.within(operand{attribute: p.logName, element: true, index: g.From + i}, g)
		}
	case limit.Lacks:
		e.and()
		e.conditions += 2
		e.condition.WriteString("NOT contains(")
		e.name(&e.condition, p.logName)
		e.condition.WriteString(", ")
		e.number(&e.condition, g.Min)
		e.condition.WriteByte(')')
	case limit.LogIs:
		e.and()
		e.conditions++
		e.name(&e.condition, p.logName)
		e.condition.WriteString(" = ")
		e.value(&e.condition, list(g.Elements))
	}
}

// An operand is what a guard looks at: an attribute, its size, or one of its elements.
type operand struct {
	attribute     string
	size, element bool
	index         int
}

func (e *expression) operand(o operand) {
	w := &e.condition
	if o.size {
		e.conditions++
		w.WriteString("size(")
		e.name(w, o.attribute)
		w.WriteByte(')')
		return
	}
	e.path(w, o)
}

// path is the operand without its size.
func (e *expression) path(w *strings.Builder, o operand) {
	e.name(w, o.attribute)
	if o.element {
		e.index(w, o.index)
	}
}

func (e *expression) orAbsent(o operand, g *limit.Guard) {
	e.and()
	if g.Min > g.Max { // nothing is
		e.exists("attribute_not_exists(", o)
		return
	}
	if g.Min > g.Max { // nothing is in it
		e.exists("attribute_not_exists(", o)
		return
	}
	e.condition.WriteByte('(')
	e.exists("attribute_not_exists(", o)
	e.condition.WriteString(" OR ")
	e.conditions++
	e.within(o, g)
	e.condition.WriteByte(')')
}

func (e *expression) exists(function string, o operand) {
	e.conditions++
	e.condition.WriteString(function)
	e.path(&e.condition, o)
	e.condition.WriteByte(')')
}

// within compares with the fewest operators and values. What is absent is in no range.
func (e *expression) within(o operand, g *limit.Guard) {
	least, most := g.Min, g.Max
	switch {
	case least > most: // nothing is; BETWEEN would be refused
		e.exists("attribute_exists(", o)
		e.condition.WriteString(" AND ")
		e.conditions++
		e.exists("attribute_not_exists(", o)
	case least == math.MinInt64 && most == math.MaxInt64:
		e.exists("attribute_exists(", o)
	case least == most:
		e.compare(o, " = ", most)
	case least == math.MinInt64:
		e.compare(o, " <= ", most)
	case most == math.MaxInt64:
		e.compare(o, " >= ", least)
	default:
		e.compare(o, " BETWEEN ", least)
		e.condition.WriteString(" AND ")
		e.number(&e.condition, most)
	}
}

func (e *expression) compare(o operand, operator string, n int64) {
	e.conditions++
	e.operand(o)
	e.condition.WriteString(operator)
	e.number(&e.condition, n)
}

func (e *expression) and() {
	if e.condition.Len() > 0 {
		e.conditions++
		e.condition.WriteString(" AND ")
	}
}

// presence guards what the changes need and the guards do not ensure: DynamoDB would
// refuse an addition to nothing as a malformed request.
func (e *expression) presence(p limited) {
	for i := range p.Changes {
		switch c := &p.Changes[i]; c.Kind {
		case limit.Add:
			if !guardsRegister(p.Guards, c.Register) {
				e.and()
				e.exists("attribute_exists(", operand{attribute: attribute(p.Limit, c.Register)})
			}
		case limit.Remove:
			if c.N > 0 && !guardsElement(p.Guards, c.From+c.N-1) {
				e.and()
				e.exists("attribute_exists(", operand{attribute: p.logName, element: true, index: c.From + c.N - 1})
			}
		case limit.AddAt:
			if !guardsElement(p.Guards, c.From) {
				e.and()
				e.exists("attribute_exists(", operand{attribute: p.logName, element: true, index: c.From})
			}
		case limit.Set, limit.AddFrom, limit.Drop, limit.Append, limit.Clear:
		}
	}
}

func guardsRegister(guards []limit.Guard, register string) bool {
	for i := range guards {
		if guards[i].Kind == limit.RegisterIn && guards[i].Register == register {
			return true
		}
	}
	return false
}

func guardsElement(guards []limit.Guard, index int) bool {
	for i := range guards {
		switch g := &guards[i]; g.Kind {
		case limit.ElementsIn:
			if g.From <= index && index < g.From+g.N {
				return true
			}
		case limit.SizeIn:
			if int64(index) < g.Min {
				return true
			}
		case limit.LogIs:
			if index < len(g.Elements) {
				return true
			}
		case limit.RegisterIn, limit.RegisterInOrAbsent, limit.SizeInOrAbsent, limit.Lacks:
		}
	}
	return false
}

func (e *expression) registers(p limited) {
	for i := range p.Changes {
		switch c := &p.Changes[i]; c.Kind {
		case limit.Set:
			e.clause(&e.set, "SET ")
			e.name(&e.set, attribute(p.Limit, c.Register))
			e.set.WriteString(" = ")
			e.number(&e.set, c.Value)
		case limit.Add:
			e.clause(&e.set, "SET ")
			e.name(&e.set, attribute(p.Limit, c.Register))
			e.set.WriteString(" = ")
			e.name(&e.set, attribute(p.Limit, c.Register))
			e.set.WriteString(" + ")
			e.updates++
			e.number(&e.set, c.Value)
		case limit.AddFrom:
			e.addFrom(attribute(p.Limit, c.Register), c)
		case limit.Drop:
			e.clause(&e.remove, "REMOVE ")
			e.name(&e.remove, attribute(p.Limit, c.Register))
		case limit.Append, limit.Remove, limit.AddAt, limit.Clear: // in log
		}
	}
}

func (e *expression) addFrom(register string, c *limit.Change) {
	e.clause(&e.set, "SET ")
	e.name(&e.set, register)
	e.set.WriteString(" = if_not_exists(")
	e.name(&e.set, register)
	e.set.WriteString(", ")
	e.number(&e.set, c.Base)
	e.set.WriteString(") + ")
	e.number(&e.set, c.Value)
	e.updates += 2
}

// log changes the list. To append beside other changes of it takes indices: list_append
// and a REMOVE, or a SET of an element, would be two paths that overlap.
func (e *expression) log(p limited) {
	byIndex, cleared := false, false
	for i := range p.Changes {
		switch c := &p.Changes[i]; c.Kind {
		case limit.Remove:
			for n := range c.N {
				byIndex = true
				e.clause(&e.remove, "REMOVE ")
				e.path(&e.remove, operand{attribute: p.logName, element: true, index: c.From + n})
			}
		case limit.AddAt:
			byIndex = true
			e.addAt(operand{attribute: p.logName, element: true, index: c.From}, c.Value)
		case limit.Clear:
			cleared = true
		case limit.Set, limit.Add, limit.AddFrom, limit.Drop, limit.Append:
		}
	}
	switch {
	case cleared:
		e.clause(&e.set, "SET ")
		e.name(&e.set, p.logName)
		e.set.WriteString(" = ")
		e.value(&e.set, list(appended(p)))
	case byIndex:
		e.appendByIndex(p)
	default:
		e.appendList(p)
	}
}

func (e *expression) addAt(o operand, n int64) {
	e.clause(&e.set, "SET ")
	e.path(&e.set, o)
	e.set.WriteString(" = ")
	e.path(&e.set, o)
	e.set.WriteString(" + ")
	e.updates++
	e.number(&e.set, n)
}

func (e *expression) appendByIndex(p limited) {
	for n, value := range appended(p) {
		e.clause(&e.set, "SET ")
		e.path(&e.set, operand{attribute: p.logName, element: true, index: appendAt + n})
		e.set.WriteString(" = ")
		e.number(&e.set, value)
	}
}

func (e *expression) appendList(p limited) {
	values := appended(p)
	if len(values) == 0 {
		return
	}
	e.clause(&e.set, "SET ")
	e.name(&e.set, p.logName)
	e.set.WriteString(" = list_append(if_not_exists(")
	e.name(&e.set, p.logName)
	e.set.WriteString(", ")
	e.value(&e.set, list(nil))
	e.set.WriteString("), ")
	e.value(&e.set, list(values))
	e.set.WriteByte(')')
	e.updates += 2
}

// appended returns what the changes put at the end of the list.
func appended(p limited) (values []int64) {
	for i := range p.Changes {
		if c := &p.Changes[i]; c.Kind == limit.Append {
			values = append(values, slices.Repeat([]int64{c.Value}, c.N)...)
		}
	}
	return values
}

// clause begins a clause or goes on with it.
func (e *expression) clause(w *strings.Builder, keyword string) {
	if w.Len() == 0 {
		w.WriteString(keyword)
	} else {
		w.WriteString(", ")
	}
}

// name refers to an attribute.
func (e *expression) name(w *strings.Builder, attribute string) {
	n := 0
	for n < len(e.names) && e.names[n] != attribute {
		n++
	}
	if n == len(e.names) {
		e.names = append(e.names, attribute)
	}
	refer(w, '#', n)
}

// number refers to a number. Equal ones are sent once.
func (e *expression) number(w *strings.Builder, value int64) {
	for n, known := range e.numbers {
		if known.ok && known.value == value {
			refer(w, ':', n)
			return
		}
	}
	e.add(numeral(value), number{value, true})
	refer(w, ':', len(e.values)-1)
}

func (e *expression) value(w *strings.Builder, v types.AttributeValue) {
	e.add(v, number{})
	refer(w, ':', len(e.values)-1)
}

func (e *expression) add(v types.AttributeValue, n number) {
	e.values = append(e.values, v)
	e.numbers = append(e.numbers, n)
}

func (e *expression) index(w *strings.Builder, n int) {
	w.WriteByte('[')
	decimal(w, n)
	w.WriteByte(']')
}

func refer(w *strings.Builder, sigil byte, n int) {
	w.WriteByte(sigil)
	decimal(w, n)
}

func decimal(w *strings.Builder, n int) {
	var digits [20]byte
	w.Write(strconv.AppendInt(digits[:0], int64(n), 10))
}

func numeral(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func list(values []int64) types.AttributeValue {
	l := &types.AttributeValueMemberL{Value: make([]types.AttributeValue, len(values))}
	for i, v := range values {
		l.Value[i] = numeral(v)
	}
	return l
}

// attributeNames and attributeValues are nil when empty: DynamoDB refuses empty maps.

func (e *expression) attributeNames() map[string]string {
	if len(e.names) == 0 {
		return nil
	}
	m := make(map[string]string, len(e.names))
	for n, name := range e.names {
		m["#"+strconv.Itoa(n)] = name
	}
	return m
}

func (e *expression) attributeValues() map[string]types.AttributeValue {
	if len(e.values) == 0 {
		return nil
	}
	m := make(map[string]types.AttributeValue, len(e.values))
	for n, v := range e.values {
		m[":"+strconv.Itoa(n)] = v
	}
	return m
}
