package adminclient

import (
	"context"
	"encoding/json"
	"maps"
	"net/url"
	"strconv"
)

// maxPage is how many items a server sends at once.
const maxPage = 1000

// A List is so many items of a list, over all pages it took, each as it was sent.
type List struct {
	Items []json.RawMessage `json:"items"`
	// Cursor is where there are more; "" when these are all.
	Cursor string `json:"cursor"`
}

// List reads a list, at most so many items; 0 for all.
func (c *Client) List(ctx context.Context, path string, query url.Values, most int) (List, error) {
	all := List{Items: []json.RawMessage{}}
	for {
		ask := url.Values{}
		maps.Copy(ask, query)
		page := maxPage
		if most > 0 {
			page = min(page, most-len(all.Items))
		}
		ask.Set("limit", strconv.Itoa(page))
		if all.Cursor != "" {
			ask.Set("cursor", all.Cursor)
		}
		answer, err := c.Get(ctx, path, ask)
		if err != nil {
			return List{}, err
		}
		var l List
		if err := answer.Decode(&l); err != nil {
			return List{}, err
		}
		all.Items, all.Cursor = append(all.Items, l.Items...), l.Cursor
		if l.Cursor == "" || most > 0 && len(all.Items) >= most {
			return all, nil
		}
	}
}

// Items reads the items of a list.
func Items[T any](l List) ([]T, error) {
	items := make([]T, len(l.Items))
	for i, raw := range l.Items {
		if err := (Answer{Body: raw}).Decode(&items[i]); err != nil {
			return nil, err
		}
	}
	return items, nil
}
