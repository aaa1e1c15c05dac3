package roles

import "github.com/everturn/everturn/streams"

const (
	api         = "$JS.API."
	acks        = "$JS.ACK."
	flowControl = "$JS.FC."
)

// bucket is the stream behind a key-value bucket.
func bucket(name string) string { return "KV_" + name }

// objects is the stream behind an object store.
func objects(name string) string { return "OBJ_" + name }

// bucketWrite is where values of a bucket are put.
func bucketWrite(name string) []string { return []string{"$KV." + name + ".>"} }

// objectWrite is where objects are put. What a failed put left behind is purged
// by the client library.
func objectWrite(name string) []string {
	return []string{"$O." + name + ".>", api + "STREAM.PURGE." + objects(name)}
}

// streamInfo is what a process asks to see whether the streams are there.
func streamInfo() []string {
	return []string{api + "INFO", api + "STREAM.NAMES", api + "STREAM.INFO.*"}
}

// readers may read messages of the streams, one by one or through consumers of
// their own, which are not part of any queue.
func readers(names ...string) []string {
	var list []string
	for _, name := range names {
		list = append(list,
			api+"STREAM.MSG.GET."+name,
			api+"DIRECT.GET."+name, api+"DIRECT.GET."+name+".>",
			api+"CONSUMER.CREATE."+name, api+"CONSUMER.CREATE."+name+".>",
			api+"CONSUMER.INFO."+name+".*",
			api+"CONSUMER.DELETE."+name+".*",
			api+"CONSUMER.MSG.NEXT."+name+".*",
			flowControl+name+".>",
		)
	}
	return list
}

// logRead reads every shard of the log.
func (cfg Config) logRead() []string {
	names := make([]string, cfg.Shards)
	for shard := range names {
		names[shard] = streams.LogStream(shard)
	}
	return readers(names...)
}

// worker may take messages of the stream from its queues and settle them.
func worker(name string) []string {
	return []string{
		api + "CONSUMER.CREATE." + name + ".>", api + "CONSUMER.INFO." + name + ".*",
		api + "CONSUMER.MSG.NEXT." + name + ".*",
		acks + name + ".>",
	}
}
