package models

import (
	"math/big"

	"github.com/everturn/everturn/events"
)

// maxPrice is a million of the currency for a million tokens: more is a slip.
const maxPrice = 1_000_000_000_000

// priceUnit is how many tokens a price is for.
const priceUnit = 1_000_000

// Price is in millionths of a currency for a million tokens: 3 dollars are
// 3000000. The file's currency is its own; nothing is converted.
type Price struct {
	Input      *int64 `yaml:"input"`
	Output     *int64 `yaml:"output"`
	CacheRead  *int64 `yaml:"cache_read"`
	CacheWrite *int64 `yaml:"cache_write"`
}

type priceKind struct {
	name  string
	price *int64
}

func (p *Price) kinds() []priceKind {
	return []priceKind{
		{"input", p.Input}, {"output", p.Output}, {"cache_read", p.CacheRead}, {"cache_write", p.CacheWrite},
	}
}

// Cost is what the tokens cost, in millionths, rounded to the nearest. Nil means
// that nobody knows: there is no price, or none for something that was used.
func (p *Price) Cost(u events.Usage) *int64 {
	if p == nil {
		return nil
	}
	sum := new(big.Int)
	used := []int64{u.Input, u.Output, u.CacheRead, u.CacheWrite}
	for i, kind := range p.kinds() {
		switch {
		case used[i] <= 0:
		case kind.price == nil:
			return nil
		default:
			sum.Add(sum, new(big.Int).Mul(big.NewInt(used[i]), big.NewInt(*kind.price)))
		}
	}
	sum.Add(sum, big.NewInt(priceUnit/2)).Div(sum, big.NewInt(priceUnit))
	if !sum.IsInt64() {
		return nil
	}
	cost := sum.Int64()
	return &cost
}
