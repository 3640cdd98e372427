'use strict';
// What coefficients say of a place: src/model/evaluate.rs and network.rs once more, so that sliders
// need nobody. Names are those of `acklab predict --format json`. A test holds both against each
// other at random places.
const model = (function () {
  const CONNECTIONS_MAX = 1000;
  const NEARLY = 0.9;

  const sum = function (all) { return all.reduce(function (a, b) { return a + b; }, 0); };
  const isNumber = function (it) { return typeof it === 'number' && Number.isFinite(it); };
  const clamp = function (it, low, high) { return Math.min(Math.max(it, low), high); };

  function rtt(at, one, other) {
    const pair = at.rtts_us.find(function (it) {
      return it[0] === one && it[1] === other || it[0] === other && it[1] === one;
    });
    return pair ? pair[2] : null;
  }

  // Distances from the writer to each peer, and between the peers; null where one is missing.
  function apart(sites, at) {
    if (sites.length === 0) return null;
    const writer = sites[0];
    const others = sites.slice(1);
    const peers = others.map(function (peer) { return rtt(at, writer, peer); });
    const between = [];
    others.forEach(function (peer, b) {
      others.slice(b + 1).forEach(function (other, more) {
        between.push([b, b + 1 + more, rtt(at, peer, other)]);
      });
    });
    const all = peers.concat(between.map(function (it) { return it[2]; }));
    return all.includes(null) ? null : { peers: peers, between: between };
  }

  // The peer that so many are no farther than.
  function nearest(peers, count) {
    const sorted = peers.slice().sort(function (a, b) { return a - b; });
    return count >= 1 && count <= sorted.length ? sorted[count - 1] : null;
  }

  function ring(is) {
    if (is.between.length === 0) return nearest(is.peers, 1);
    return Math.max.apply(null, is.between.map(function (it) {
      return is.peers[it[0]] + it[2] + is.peers[it[1]];
    })) / 3;
  }

  // The equal distance at which a commit that waits so would take as long.
  function equalTo(is, whom, sites) {
    const peers = is.peers;
    const mean = peers.length > 0 ? sum(peers) / peers.length : null;
    const farthest = nearest(peers, peers.length);
    if (whom === 'nobody') return 0;
    if (whom === 'nearest') return nearest(peers, 1);
    if (whom === 'farthest') return farthest;
    if (whom === 'each') return mean;
    if (whom === 'ring') return ring(is);
    if (whom === 'order-and-farthest') return mean === null ? null : (2 * mean + farthest) / 3;
    if (whom.startsWith('nearest-')) return nearest(peers, Number(whom.slice(8)));
    if (whom.startsWith('site ')) {
      const place = sites.slice(1).indexOf(whom.slice(5));
      return place >= 0 ? peers[place] : null;
    }
    return null;
  }

  // Of several that are largest the last.
  function largest(parts) {
    return parts.reduce(function (most, part) { return part[1] >= most[1] ? part : most; })[0];
  }

  // The ratio at the number of connections that is nearest, by their quotient.
  function atConnections(all, connections) {
    let found = null;
    let least = Infinity;
    all.forEach(function (one) {
      const far = Math.abs(Math.log(one.connections / connections));
      if (far < least) {
        least = far;
        found = one.ratio;
      }
    });
    return found;
  }

  function flushTime(single, at) {
    const asked = single.flushes === null ? null : at.flush_us;
    return asked === null || asked === undefined ? single.flush_us : asked;
  }

  // A commit that meets idle machines.
  function commitOf(single, at, distance) {
    const flush = flushTime(single, at);
    const flushes = single.flushes || 0;
    const way = single.round_trips * distance;
    const flushing = flushes * flush;
    const alone = Math.max(single.work_us + way + flushing, 1);
    return {
      work: single.work_us, way: way, flushing: flushing, alone: alone,
      mean: alone * single.mean_ratio, flush: flush, flushes: flushes, waits: way + flushing,
      limit: largest([['distance', way], ['flushes', flushing], ['work', single.work_us]])
    };
  }

  function single(demand, waits) { return Math.max(demand.rest_us + demand.growth * waits, 0); }

  function demandAt(demand, waits, connections) {
    const shared = demand.fall / Math.max(connections, 1);
    return single(demand, waits) * (1 - demand.fall + shared);
  }

  function appliedPerS(appliers, flush, cpus) {
    const busy = appliers.flushes * (flush + appliers.floor_us) + appliers.cpu_us;
    const byThreads = Math.max(appliers.together, 1) / busy * 1e6;
    const byCpus = cpus.own === undefined ? Infinity : cpus.own / appliers.cpu_us * 1e6;
    const perS = Math.min(byThreads, byCpus);
    return isNumber(perS) ? perS : null;
  }

  // Products of all steps so far, as parts of the largest.
  function weights(count, step) {
    const logs = [0];
    for (let n = 1; n <= count; n += 1) logs.push(logs[n - 1] + Math.log(step(n)));
    const most = logs.reduce(function (a, b) { return Math.max(a, b); });
    return logs.map(function (log) { return Math.exp(log - most); });
  }

  function convolved(one, other) {
    const sums = new Array(one.length);
    let most = 0;
    for (let n = 0; n < one.length; n += 1) {
      let all = 0;
      for (let part = 0; part <= n; part += 1) all += one[part] * other[n - part];
      sums[n] = all;
      most = Math.max(most, all);
    }
    return sums.map(function (it) { return it / most; });
  }

  // A closed network of a delay and stations of a demand and a speed: rounds for each µs, and
  // where that is asked for the time of each round at each station.
  function solve(clients, delay, stations, hasStays) {
    const least = stations.reduce(function (most, it) {
      return Math.max(most, it.demand / it.speed(clients));
    }, delay / clients);
    if (!(least > 0)) return null;
    const scale = 1 / least;
    const factors = [weights(clients, function (n) { return delay * scale / n; })];
    stations.forEach(function (it) {
      factors.push(weights(clients, function (n) { return it.demand * scale / it.speed(n); }));
    });
    const all = factors.reduce(convolved);
    const perUs = scale * all[clients - 1] / all[clients];
    if (!isNumber(perUs)) return null;
    const stay = function (place) {
      const others = factors.filter(function (_, other) { return other !== place; });
      const rest = others.reduce(convolved);
      let whole = 0;
      let there = 0;
      factors[place].forEach(function (own, n) {
        const weight = own * rest[clients - n];
        whole += weight;
        there += n * weight;
      });
      return there / whole / perUs;
    };
    const stays = hasStays ? stations.map(function (_, place) { return stay(place + 1); }) : [];
    return { perUs: perUs, stays: stays };
  }

  // Commits of several connections, which share CPUs and flushes.
  function crowdOf(several, commit, at) {
    const isOwn = at.cpus.own !== undefined;
    const demand = isOwn ? several.writer_cpu : several.host_cpu;
    if (!demand) return null;
    const cpus = isOwn ? at.cpus.own : at.cpus.shared;
    const own = demandAt(several.writer_cpu, commit.waits, 1);
    const pipeline = several.pipeline;
    let batch = 0;
    if (pipeline && pipeline.is_copied) batch = commit.mean - own;
    else if (pipeline) batch = commit.flushes * (commit.flush + pipeline.floor_us);
    batch = clamp(batch, 0, commit.mean);
    const appliers = several.appliers;
    return {
      demand: demand, cpus: cpus, waits: commit.waits, way: commit.way, mean: commit.mean,
      delay: Math.max(commit.mean - batch - own, 0), batch: batch,
      power: pipeline ? pipeline.power : 0,
      applied: appliers && appliers.hold_back ? appliedPerS(appliers, commit.flush, at.cpus) : null
    };
  }

  function solved(crowd, connections, hasStays) {
    const cpus = {
      demand: demandAt(crowd.demand, crowd.waits, connections),
      speed: function (n) { return Math.min(n, crowd.cpus); }
    };
    const flushes = {
      demand: crowd.batch,
      speed: function (n) { return Math.pow(n, crowd.power); }
    };
    return solve(connections, crowd.delay, [cpus, flushes], hasStays);
  }

  // What so many connections carry, and where it is asked for what limits them.
  function carried(crowd, connections, hasLimit) {
    if (connections <= 1) return { perS: 1e6 / crowd.mean, limit: 'work' };
    const found = solved(crowd, connections, hasLimit);
    if (!found) return null;
    const perS = found.perUs * 1e6;
    if (crowd.applied !== null && crowd.applied < perS) {
      return { perS: crowd.applied, limit: 'appliers' };
    }
    if (!hasLimit) return { perS: perS, limit: null };
    const way = Math.min(crowd.way, crowd.delay);
    return {
      perS: perS,
      limit: largest([
        ['cpus', found.stays[0]], ['flushes', found.stays[1]],
        ['distance', way], ['work', crowd.delay - way]
      ])
    };
  }

  // More than this no number of connections carries.
  function mostPerS(crowd) {
    const least = single(crowd.demand, crowd.waits) * (1 - crowd.demand.fall);
    const bounds = [];
    if (least > 0) bounds.push(crowd.cpus / least * 1e6);
    if (crowd.power <= 0 && crowd.batch > 0) bounds.push(1e6 / crowd.batch);
    if (crowd.applied !== null) bounds.push(crowd.applied);
    return bounds.length > 0 ? Math.min.apply(null, bounds) : null;
  }

  // The fewest connections that carry so much.
  function carries(crowd, perS) {
    const isEnough = function (connections) {
      const found = carried(crowd, connections, false);
      return found !== null && found.perS >= perS;
    };
    let low = 0;
    let high = 1;
    while (!isEnough(high)) {
      if (high === CONNECTIONS_MAX) return null;
      low = high;
      high = Math.min(2 * high, CONNECTIONS_MAX);
    }
    while (high - low > 1) {
      const middle = low + Math.floor((high - low) / 2);
      if (isEnough(middle)) high = middle;
      else low = middle;
    }
    return high;
  }

  // Where commits of several connections meet.
  function crowded(way, of, crowd, connections) {
    const found = crowd ? carried(crowd, connections, true) : null;
    if (!found) return Object.assign(way, { p50: null, p99: null, perS: null });
    const several = of.several;
    const median = atConnections(several.medians, connections);
    const p50 = connections / found.perS * 1e6 * (median === null ? 1 : median);
    const ratio = atConnections(several.p99s, connections);
    const p99 = ratio === null ? null : p50 * ratio;
    return Object.assign(way, { p50: p50, p99: p99, perS: found.perS, limit: found.limit });
  }

  // All that is foretold where a commit waits as at one equal distance.
  function wayOf(of, at, distance, hasMost) {
    const commit = commitOf(of.single, at, distance);
    const crowd = of.several ? crowdOf(of.several, commit, at) : null;
    const most = crowd && hasMost ? mostPerS(crowd) : null;
    const tail = of.single.tail_us;
    const way = {
      p50: commit.alone,
      p99: tail === null ? null : commit.alone + tail,
      perS: 1e6 / commit.mean, most: most,
      from: most === null ? null : carries(crowd, NEARLY * most),
      limit: commit.limit
    };
    return at.connections <= 1 ? way : crowded(way, of, crowd, at.connections);
  }

  function spanOf(one, other) {
    if (!isNumber(one) || !isNumber(other)) return null;
    return { low: Math.min(one, other), high: Math.max(one, other) };
  }

  // Where nothing is foretold nothing limits it.
  function limitsOf(near, far) {
    if (near.p50 === null || far.p50 === null) return [];
    return near.limit === far.limit ? [near.limit] : [near.limit, far.limit];
  }

  // What is foretold of one mode; null where a distance is missing, or nobody is where it waits.
  // Without `hasMost` the most that can be carried, which takes a search, is left out.
  function evaluate(of, at, hasMost) {
    const is = apart(of.sites, at);
    if (!is) return null;
    const ways = of.single.waits_for;
    const distances = ways.map(function (whom) { return equalTo(is, whom, of.sites); });
    const known = distances.filter(function (us) { return us !== null; });
    if (known.length === 0) return null;
    const shortest = Math.min.apply(null, known);
    const longest = Math.max.apply(null, known);
    const near = wayOf(of, at, shortest, hasMost);
    const far = shortest === longest ? near : wayOf(of, at, longest, hasMost);
    const most = spanOf(near.most, far.most);
    const from = [near.from, far.from].includes(null) ? null : Math.max(near.from, far.from);
    const appliers = of.several && of.several.appliers;
    return {
      p50_us: spanOf(near.p50, far.p50),
      p99_us: spanOf(near.p99, far.p99),
      commits_per_s: spanOf(near.perS, far.perS),
      most: most && { commits_per_s: most, from_connections: from },
      replicas_per_s: appliers ? appliedPerS(appliers, flushTime(of.single, at), at.cpus) : null,
      limits: limitsOf(near, far)
    };
  }

  return { evaluate: evaluate, CONNECTIONS_MAX: CONNECTIONS_MAX };
}());
