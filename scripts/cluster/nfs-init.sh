#!/bin/bash
# The first process of the user-mode Linux that nfs.sh boots: the kernel's NFS server and two nodes,
# each with a network, a client and a name of its own, in one kernel without any outer network. Then
# shared.sh runs on the two, for NFS 3 and 4.2. The root is the host's, so nothing may be written but
# to the file systems in memory that are mounted here.
#   from the kernel's command line: here=SCRIPTS work=FOLDER-ON-THE-HOST tests=TEST,...
export PATH=$work/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/run
mount -t proc proc /proc
mount -t sysfs sys /sys
echo 'uml: up'
for folder in /run /var/lib/nfs /mnt; do
    mount -t tmpfs tmpfs $folder
done
mkdir -p /run/rpcbind /run/netns /var/lib/nfs/v4recovery /var/lib/nfs/rpc_pipefs /mnt/{server,a,b,data}
touch /var/lib/nfs/{etab,rmtab,state}
mount -t tmpfs -o size=192m tmpfs /mnt/server
for module in veth nfsd nfsv3 nfsv4; do modprobe -q -d "$work/modules" $module; done

# Node a is 10.99.1.2 and reaches the server at 10.99.1.1, node b the same with 2 in the middle.
ip link set lo up
node_up() {
    ip netns add "$1"
    ip link add "veth-$1" type veth peer name eth0 netns "$1"
    ip addr add "10.99.$2.1/24" dev "veth-$1"
    ip link set "veth-$1" up
    ip -n "$1" addr add "10.99.$2.2/24" dev eth0
    ip -n "$1" link set eth0 up
    ip -n "$1" link set lo up
    # NFS 4 would take two clients of one name for the same one, restarted.
    ip netns exec "$1" sh -c "echo node-$1 >/sys/fs/nfs/net/nfs_client/identifier"
}
mount -t nfsd nfsd /proc/fs/nfsd
rpcbind
sleep 0.3
exportfs -o rw,no_root_squash,sync,insecure,no_subtree_check,fsid=0 10.99.0.0/16:/mnt/server
# Short leases and grace: after a start, NFS 4 gives no locks for that long.
rpc.nfsd -G 10 -L 10 4 2>/dev/null
rpc.mountd 2>/dev/null
if ! grep -q tcp /proc/fs/nfsd/portlist; then
    echo "FAILED: no NFS server"
    halt -f
fi
node_up a 1
node_up b 2

# From the network of the node, but seen by all.
mount_node() {
    local options="vers=$3,nosharecache,proto=tcp" path=/
    [ "$3" = 3 ] && options+=,nolock path=/mnt/server
    nsenter --net="/run/netns/$1" mount -t nfs -o "$options" "10.99.$2.1:$path" "/mnt/$1"
}
for version in 3 4.2; do
    if mount_node a 1 $version && mount_node b 2 $version; then
        bash "$here/shared.sh" "NFS $version" nfs "$work/expected" ${tests//,/ } && echo "uml: NFS $version is right"
    fi
    umount /mnt/a /mnt/b
    rm -rf /mnt/server/*
done
echo "uml: all done"
halt -f
