package dynamo

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/seed43908478/penstock/limit"
	"github.com/seed43908478/penstock/store"
)

// states finds the states of the parts in an item, by the names of its attributes.
func states(item map[string]types.AttributeValue, parts []store.Part) ([]limit.State, error) {
	found := make([]limit.State, len(parts))
	for name, v := range item {
		for i := range parts {
			register, ok := registerOf(parts[i].Limit, name)
			if !ok {
				continue
			}
			if err := read(&found[i], register, v); err != nil {
				return nil, fmt.Errorf("attribute %q of the item: %w", name, err)
			}
			break
		}
	}
	return found, nil
}

// registerOf returns the register of a limit that an attribute is, if it is one.
// Registers have no dots, so "api.tb.tat" is none of the limit "api".
func registerOf(limitName, attribute string) (string, bool) {
	rest, ok := strings.CutPrefix(attribute, limitName)
	if !ok || rest == "" || rest[0] != '.' || strings.IndexByte(rest[1:], '.') >= 0 {
		return "", false
	}
	return rest[1:], true
}

func read(s *limit.State, register string, v types.AttributeValue) error {
	switch v := v.(type) {
	case *types.AttributeValueMemberN:
		n, err := numberOf(v)
		if err != nil {
			return err
		}
		s.Registers = append(s.Registers, limit.Register{Name: register, Value: n})
		return nil
	case *types.AttributeValueMemberL:
		if register == logRegister {
			times, err := times(v.Value)
			s.Log = times
			return err
		}
	}
	return fmt.Errorf("has type %T", v)
}

func times(list []types.AttributeValue) ([]int64, error) {
	times := make([]int64, len(list))
	for i, v := range list {
		t, err := numberOf(v)
		if err != nil {
			return nil, fmt.Errorf("element %d %w", i, err)
		}
		times[i] = t
	}
	return times, nil
}

func numberOf(v types.AttributeValue) (int64, error) {
	n, ok := v.(*types.AttributeValueMemberN)
	if !ok {
		return 0, fmt.Errorf("has type %T", v)
	}
	return strconv.ParseInt(n.Value, 10, 64)
}
