package client

import (
	"context"

	"github.com/everturn/everturn/protocol/listing"
)

// Chats gives a page of the tenant's chats, the one that changed last first.
//
// This and the three below are answered by projections with a store only. Others
// refuse with the code unavailable.
func (c *Client) Chats(ctx context.Context, q listing.ChatsRequest) (listing.Chats, error) {
	var a listing.Chats
	err := c.Query(ctx, listing.QueryChats, q, &a)
	return a, err
}

// Search gives a page of where something was said, the newest first.
func (c *Client) Search(ctx context.Context, q listing.SearchRequest) (listing.Hits, error) {
	var a listing.Hits
	err := c.Query(ctx, listing.QuerySearch, q, &a)
	return a, err
}

// Usage gives a page of what the tenant's chats used.
func (c *Client) Usage(ctx context.Context, q listing.UsageRequest) (listing.Usage, error) {
	var a listing.Usage
	err := c.Query(ctx, listing.QueryUsage, q, &a)
	return a, err
}

// Open gives a page of what waits for somebody, what waits longest first.
func (c *Client) Open(ctx context.Context, q listing.OpenRequest) (listing.Open, error) {
	var a listing.Open
	err := c.Query(ctx, listing.QueryOpen, q, &a)
	return a, err
}
