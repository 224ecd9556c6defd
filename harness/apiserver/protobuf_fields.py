"""The numbers of fields in Kubernetes' protobuf encoding, for the kinds that kubectl and typed clients send in it.

A line is a message and its fields; which type a field has is in `schemas`. The numbers, types and cardinalities of all of them were
compared with the descriptors of the generated.proto files of k8s.io/api and k8s.io/apimachinery 0.33.1, which are part of every kubectl
(tools/protobuf_numbers.py); a number once released never changes. What came after that version is
not in the table: a client that sends it is asked for JSON.
"""

FIELDS = """
meta.v1.ObjectMeta name=1 generateName=2 namespace=3 selfLink=4 uid=5 resourceVersion=6 generation=7 creationTimestamp=8 deletionTimestamp=9 deletionGracePeriodSeconds=10 labels=11 annotations=12 ownerReferences=13 finalizers=14 managedFields=17
meta.v1.ListMeta selfLink=1 resourceVersion=2 continue=3 remainingItemCount=4
meta.v1.OwnerReference kind=1 name=3 uid=4 apiVersion=5 controller=6 blockOwnerDeletion=7
meta.v1.ManagedFieldsEntry manager=1 operation=2 apiVersion=3 time=4 fieldsType=6 fieldsV1=7 subresource=8
meta.v1.LabelSelector matchLabels=1 matchExpressions=2
meta.v1.LabelSelectorRequirement key=1 operator=2 values=3
meta.v1.FieldSelectorRequirement key=1 operator=2 values=3
meta.v1.Condition type=1 status=2 observedGeneration=3 lastTransitionTime=4 reason=5 message=6
meta.v1.DeleteOptions gracePeriodSeconds=1 preconditions=2 orphanDependents=3 propagationPolicy=4 dryRun=5 ignoreStoreReadErrorWithClusterBreakingPotential=6
meta.v1.Preconditions uid=1 resourceVersion=2
core.v1.Namespace metadata=1 spec=2 status=3
core.v1.NamespaceSpec finalizers=1
core.v1.NamespaceStatus phase=1 conditions=2
core.v1.NamespaceCondition type=1 status=2 lastTransitionTime=4 reason=5 message=6
core.v1.ConfigMap metadata=1 data=2 binaryData=3 immutable=4
core.v1.Secret metadata=1 data=2 type=3 stringData=4 immutable=5
core.v1.ServiceAccount metadata=1 secrets=2 imagePullSecrets=3 automountServiceAccountToken=4
core.v1.LocalObjectReference name=1
core.v1.ObjectReference kind=1 namespace=2 name=3 uid=4 apiVersion=5 resourceVersion=6 fieldPath=7
core.v1.ResourceQuota metadata=1 spec=2 status=3
core.v1.ResourceQuotaSpec hard=1 scopes=2 scopeSelector=3
core.v1.ResourceQuotaStatus hard=1 used=2
core.v1.ScopeSelector matchExpressions=1
core.v1.ScopedResourceSelectorRequirement scopeName=1 operator=2 values=3
core.v1.Service metadata=1 spec=2 status=3
core.v1.ServiceSpec ports=1 selector=2 clusterIP=3 type=4 externalIPs=5 sessionAffinity=7 loadBalancerIP=8 loadBalancerSourceRanges=9 externalName=10 externalTrafficPolicy=11 healthCheckNodePort=12 publishNotReadyAddresses=13 sessionAffinityConfig=14 ipFamilyPolicy=17 clusterIPs=18 ipFamilies=19 allocateLoadBalancerNodePorts=20 loadBalancerClass=21 internalTrafficPolicy=22 trafficDistribution=23
core.v1.ServicePort name=1 protocol=2 port=3 targetPort=4 nodePort=5 appProtocol=6
core.v1.ServiceStatus loadBalancer=1 conditions=2
core.v1.LoadBalancerStatus ingress=1
core.v1.Binding metadata=1 target=2
core.v1.Pod metadata=1 spec=2 status=3
core.v1.PodTemplateSpec metadata=1 spec=2
core.v1.PodSpec volumes=1 containers=2 restartPolicy=3 terminationGracePeriodSeconds=4 activeDeadlineSeconds=5 dnsPolicy=6 nodeSelector=7 serviceAccountName=8 serviceAccount=9 nodeName=10 hostNetwork=11 hostPID=12 hostIPC=13 securityContext=14 imagePullSecrets=15 hostname=16 subdomain=17 affinity=18 schedulerName=19 initContainers=20 automountServiceAccountToken=21 tolerations=22 hostAliases=23 priorityClassName=24 priority=25 dnsConfig=26 shareProcessNamespace=27 readinessGates=28 runtimeClassName=29 enableServiceLinks=30 preemptionPolicy=31 overhead=32 topologySpreadConstraints=33 ephemeralContainers=34 setHostnameAsFQDN=35 os=36 hostUsers=37 schedulingGates=38 resourceClaims=39 resources=40
core.v1.PodResourceClaim name=1 resourceClaimName=3 resourceClaimTemplateName=4
core.v1.PodSchedulingGate name=1
core.v1.Container name=1 image=2 command=3 args=4 workingDir=5 ports=6 env=7 resources=8 volumeMounts=9 livenessProbe=10 readinessProbe=11 lifecycle=12 terminationMessagePath=13 imagePullPolicy=14 securityContext=15 stdin=16 stdinOnce=17 tty=18 envFrom=19 terminationMessagePolicy=20 volumeDevices=21 startupProbe=22 resizePolicy=23 restartPolicy=24
core.v1.ContainerPort name=1 hostPort=2 containerPort=3 protocol=4 hostIP=5
core.v1.EnvVar name=1 value=2 valueFrom=3
core.v1.ResourceRequirements limits=1 requests=2 claims=3
core.v1.ResourceClaim name=1 request=2
core.v1.Toleration key=1 operator=2 value=3 effect=4 tolerationSeconds=5
scheduling.v1.PriorityClass metadata=1 value=2 globalDefault=3 description=4 preemptionPolicy=5
apps.v1.Deployment metadata=1 spec=2 status=3
apps.v1.DeploymentSpec replicas=1 selector=2 template=3 strategy=4 minReadySeconds=5 revisionHistoryLimit=6 paused=7 progressDeadlineSeconds=9
apps.v1.DeploymentStrategy type=1 rollingUpdate=2
apps.v1.RollingUpdateDeployment maxUnavailable=1 maxSurge=2
apps.v1.DeploymentStatus observedGeneration=1 replicas=2 updatedReplicas=3 availableReplicas=4 unavailableReplicas=5 conditions=6 readyReplicas=7 collisionCount=8 terminatingReplicas=9
autoscaling.v1.Scale metadata=1 spec=2 status=3
autoscaling.v1.ScaleSpec replicas=1
autoscaling.v1.ScaleStatus replicas=1 selector=2
batch.v1.Job metadata=1 spec=2 status=3
batch.v1.JobSpec parallelism=1 completions=2 activeDeadlineSeconds=3 selector=4 manualSelector=5 template=6 backoffLimit=7 ttlSecondsAfterFinished=8 completionMode=9 suspend=10 podFailurePolicy=11 backoffLimitPerIndex=12 maxFailedIndexes=13 podReplacementPolicy=14 managedBy=15 successPolicy=16
batch.v1.JobStatus conditions=1 startTime=2 completionTime=3 active=4 succeeded=5 failed=6 completedIndexes=7 uncountedTerminatedPods=8 ready=9 failedIndexes=10 terminating=11
batch.v1.CronJob metadata=1 spec=2 status=3
batch.v1.CronJobSpec schedule=1 startingDeadlineSeconds=2 concurrencyPolicy=3 suspend=4 jobTemplate=5 successfulJobsHistoryLimit=6 failedJobsHistoryLimit=7 timeZone=8
batch.v1.CronJobStatus active=1 lastScheduleTime=4 lastSuccessfulTime=5
batch.v1.JobTemplateSpec metadata=1 spec=2
policy.v1.Eviction metadata=1 deleteOptions=2
policy.v1.PodDisruptionBudget metadata=1 spec=2 status=3
policy.v1.PodDisruptionBudgetSpec minAvailable=1 selector=2 maxUnavailable=3 unhealthyPodEvictionPolicy=4
policy.v1.PodDisruptionBudgetStatus observedGeneration=1 disruptedPods=2 disruptionsAllowed=3 currentHealthy=4 desiredHealthy=5 expectedPods=6 conditions=7
rbac.v1.Role metadata=1 rules=2
rbac.v1.ClusterRole metadata=1 rules=2 aggregationRule=3
rbac.v1.AggregationRule clusterRoleSelectors=1
rbac.v1.PolicyRule verbs=1 apiGroups=2 resources=3 resourceNames=4 nonResourceURLs=5
rbac.v1.RoleBinding metadata=1 subjects=2 roleRef=3
rbac.v1.ClusterRoleBinding metadata=1 subjects=2 roleRef=3
rbac.v1.Subject kind=1 apiGroup=2 name=3 namespace=4
rbac.v1.RoleRef apiGroup=1 kind=2 name=3
authentication.v1.SelfSubjectReview metadata=1 status=2
authentication.v1.SelfSubjectReviewStatus userInfo=1
authentication.v1.UserInfo username=1 uid=2 groups=3 extra=4
authentication.v1.TokenRequest metadata=1 spec=2 status=3
authentication.v1.TokenRequestSpec audiences=1 boundObjectRef=3 expirationSeconds=4
authentication.v1.BoundObjectReference kind=1 apiVersion=2 name=3 uid=4
authentication.v1.TokenRequestStatus token=1 expirationTimestamp=2
authorization.v1.SelfSubjectAccessReview metadata=1 spec=2 status=3
authorization.v1.SelfSubjectAccessReviewSpec resourceAttributes=1 nonResourceAttributes=2
authorization.v1.ResourceAttributes namespace=1 verb=2 group=3 version=4 resource=5 subresource=6 name=7 fieldSelector=8 labelSelector=9
authorization.v1.FieldSelectorAttributes rawSelector=1 requirements=2
authorization.v1.LabelSelectorAttributes rawSelector=1 requirements=2
authorization.v1.NonResourceAttributes path=1 verb=2
authorization.v1.SubjectAccessReviewStatus allowed=1 reason=2 evaluationError=3 denied=4
authorization.v1.SelfSubjectRulesReview metadata=1 spec=2 status=3
authorization.v1.SelfSubjectRulesReviewSpec namespace=1
authorization.v1.SubjectRulesReviewStatus resourceRules=1 nonResourceRules=2 incomplete=3 evaluationError=4
authorization.v1.ResourceRule verbs=1 apiGroups=2 resources=3 resourceNames=4
authorization.v1.NonResourceRule verbs=1 nonResourceURLs=2
coordination.v1.Lease metadata=1 spec=2
coordination.v1.LeaseSpec holderIdentity=1 leaseDurationSeconds=2 acquireTime=3 renewTime=4 leaseTransitions=5 strategy=6 preferredHolder=7
"""
