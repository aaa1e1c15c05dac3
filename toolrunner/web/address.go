package web

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// ErrAddress means that an address is not one that may be asked.
var ErrAddress = errors.New("it must not be asked: only ports 80 and 443 of the public internet are, and what the operator has allowed")

// Allowed is what an operator allows beside the public internet.
type Allowed struct {
	names    []hostPort // a name stands for whatever it leads to
	networks []network
}

// hostPort is a name with the port that is allowed, 0 for those of the web.
type hostPort struct {
	host string
	port uint16
}

type network struct {
	prefix netip.Prefix
	port   uint16
}

// ParseAllowed reads what is allowed: names (wiki.example), addresses (10.0.0.7), each of
// them with a port if it is not 80 or 443 (wiki.example:8080, [::1]:8080), and networks
// (10.0.0.0/8). All that is wrong is said at once.
func ParseAllowed(list []string) (Allowed, error) {
	var a Allowed
	var errs []error
	for _, s := range list {
		if err := a.add(s); err != nil {
			errs = append(errs, fmt.Errorf("%q: %w", s, err))
		}
	}
	return a, errors.Join(errs...)
}

func (a *Allowed) add(s string) error {
	if prefix, err := netip.ParsePrefix(s); err == nil {
		if prefix.Addr().Is4In6() { // no connection has such an address
			return errors.New("want the network as one of IPv4, such as 10.0.0.0/8")
		}
		a.networks = append(a.networks, network{prefix: prefix.Masked()})
		return nil
	}
	wrong := errors.New("want a name, an address, either with a port, or a network such as 10.0.0.0/8; no http:// in front")
	host, port := s, uint16(0)
	if h, p, err := net.SplitHostPort(s); err == nil && !strings.Contains(s, "/") {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil || n == 0 {
			return errors.New("want a port from 1 to 65535")
		}
		host, port = h, uint16(n)
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		ip = ip.Unmap()
		if ip.Zone() != "" {
			return errors.New("want an address without a zone")
		}
		a.networks = append(a.networks, network{prefix: netip.PrefixFrom(ip, ip.BitLen()), port: port})
		return nil
	}
	if name := canonical(host); isName(name) {
		a.names = append(a.names, hostPort{host: name, port: port})
		return nil
	}
	return wrong
}

// canonical is a name as names are compared.
func canonical(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

func isName(s string) bool {
	return s != "" && len(s) <= 253 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == "" &&
		strings.ContainsAny(s, "abcdefghijklmnopqrstuvwxyz")
}

// isWebPort says whether a port needs no word of an operator.
func isWebPort(port uint16) bool { return port == 80 || port == 443 }

// name says whether a name may be asked whatever it leads to.
func (a Allowed) name(host string, port uint16) bool {
	return slices.ContainsFunc(a.names, func(n hostPort) bool {
		return n.host == canonical(host) && (n.port == port || n.port == 0 && isWebPort(port))
	})
}

// address says whether a connection to this address may be made.
func (a Allowed) address(to netip.AddrPort) bool {
	ip := to.Addr()
	if ip.Zone() != "" {
		return false
	}
	if isWebPort(to.Port()) && isPublic(ip) {
		return true
	}
	ip = ip.Unmap()
	return slices.ContainsFunc(a.networks, func(n network) bool {
		return n.prefix.Contains(ip) && (n.port == to.Port() || n.port == 0 && isWebPort(to.Port()))
	})
}

// notPublic are the networks among the addresses of the internet that lead to the own
// machine, to its neighbours, to a part of an address of the other kind, or nowhere.
var notPublic = [...]netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),        // this host
	netip.MustParsePrefix("10.0.0.0/8"),       // private
	netip.MustParsePrefix("100.64.0.0/10"),    // behind a provider's translation; clouds have metadata there
	netip.MustParsePrefix("127.0.0.0/8"),      // loopback
	netip.MustParsePrefix("168.63.129.16/32"), // a cloud's own services, at a public address
	netip.MustParsePrefix("169.254.0.0/16"),   // link-local, and the metadata of most clouds
	netip.MustParsePrefix("172.16.0.0/12"),    // private
	netip.MustParsePrefix("192.0.0.0/24"),     // of protocols; a cloud has metadata there
	netip.MustParsePrefix("192.0.2.0/24"),     // documentation
	netip.MustParsePrefix("192.88.99.0/24"),   // relays of 6to4
	netip.MustParsePrefix("192.168.0.0/16"),   // private
	netip.MustParsePrefix("198.18.0.0/15"),    // measurements
	netip.MustParsePrefix("198.51.100.0/24"),  // documentation
	netip.MustParsePrefix("203.0.113.0/24"),   // documentation
	netip.MustParsePrefix("224.0.0.0/3"),      // multicast, reserved, broadcast
	netip.MustParsePrefix("2001::/23"),        // of protocols, Teredo among them
	netip.MustParsePrefix("2001:db8::/32"),    // documentation
	netip.MustParsePrefix("2002::/16"),        // 6to4: an address of the other kind
	netip.MustParsePrefix("3fff::/20"),        // documentation
}

// global is where public addresses of the newer kind are. Loopback, link-local and
// private ones, multicast, and those that stand for one of the older kind, mapped or
// translated, are elsewhere.
var global = netip.MustParsePrefix("2000::/3")

func isPublic(ip netip.Addr) bool {
	if ip.Is6() && !global.Contains(ip) { // also one that is mapped: nobody writes it so without a purpose
		return false
	}
	return !slices.ContainsFunc(notPublic[:], func(p netip.Prefix) bool { return p.Contains(ip) })
}
